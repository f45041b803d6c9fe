import type { JsonSchema, ToolCheck, ToolDef } from '../core/tool.ts'
import { folderKey } from './approval-keys.ts'
import type { createGlobTool } from './glob.ts'
import { formatResult } from './search/format-result.ts'
import { GlobProblem, splitGlobs } from './search/glob-pattern.ts'
import { everyPath, looseFilter, type PathFilterSpec } from './search/path-filter.ts'
import { checkNumbers, type PageInput, pageOf, pageProperties, type SearchQuery } from './search/query.ts'
import { createSearcher, joinPath, resolveFolder, resolveRoot } from './search/searcher.ts'

const description = `Searches in files for a regular expression, in ripgrep's dialect: no look-around, no backreferences, and braces that are meant as such are escaped (\`interface\\{\\}\`).
Results are sorted by path, folder by folder, and come in pages; the note in parentheses at the end tells how to get the next one.
Left out are binary files, \`.git\`, links, and what a \`.gitignore\` leaves out unless \`path\` is that folder or file itself. Hidden files are searched.`

type OutputMode = 'content' | 'files_with_matches' | 'count'

export interface GrepInput extends PageInput {
  readonly pattern: string
  readonly path?: string
  readonly glob?: string
  readonly type?: string
  readonly output_mode?: OutputMode
  readonly '-i'?: boolean
  readonly '-n'?: boolean
  readonly '-A'?: number
  readonly '-B'?: number
  readonly '-C'?: number
  readonly context?: number
  readonly multiline?: boolean
}

const modes: Readonly<Record<OutputMode, SearchQuery['mode']>> = {
  content: 'content',
  files_with_matches: 'files',
  count: 'count',
}

/** The time for the call beyond the limit of the search. */
const graceMs = 10_000

/** A tool that searches files, with ripgrep if it is installed. */
export function createGrepTool(options: Parameters<typeof createGlobTool>[0] = {}): ToolDef {
  const { limitMs = 50_000 } = options
  const search = createSearcher(options)
  return {
    spec: { name: 'grep', description, inputSchema: inputSchema() },
    isConcurrencySafe: true,
    replay: 'pure',
    effects: ['fs.read'],
    timeoutMs: limitMs + graceMs,
    touches: ({ path }) => [{ path: path || '.', access: 'search' }],
    deriveApprovalKey: ({ path }) => folderKey(path),
    check: checkInput,
    async execute(input, ctx) {
      const asked = input.path || '.'
      const givenRoot = await resolveRoot(asked, ctx)
      // A file given as path is searched regardless of its name.
      const isFile = givenRoot.kind === 'file'
      const filter = isFile ? everyPath : filterOf(input.glob)
      const query = { ...queryOf(input), filter, limitMs, type: isFile ? undefined : input.type || undefined }
      const path = joinPath(asked, filter.base.replace(/\/$/, ''))
      const root = filter.base === '' ? givenRoot : await resolveFolder(path, ctx)
      if (!root) return { output: nothing, details: { total: 0, shown: 0 } }
      const result = await search(query, root, ctx)
      const unit = query.mode === 'content' ? 'line' : 'file'
      const output = formatResult(result, { query, path, root, unit, nothing, lineNumbers: input['-n'] ?? true })
      return { output, details: { total: result.total, shown: result.entries.length } }
    },
  }
}

export const grep: ToolDef = createGrepTool()

const nothing = 'No matches found'

function queryOf(input: GrepInput): Omit<SearchQuery, 'filter' | 'limitMs'> {
  const mode = modes[input.output_mode ?? 'files_with_matches']
  const around = input['-C'] ?? input.context ?? 0
  const isContent = mode === 'content'
  return {
    mode,
    pattern: input.pattern,
    ignoreCase: input['-i'] ?? false,
    multiline: input.multiline ?? false,
    before: isContent ? (input['-B'] ?? around) : 0,
    after: isContent ? (input['-A'] ?? around) : 0,
    ...pageOf(input),
  }
}

function filterOf(glob: string | undefined): PathFilterSpec {
  try {
    return glob ? looseFilter(splitGlobs(glob)) : everyPath
  } catch (error) {
    if (!(error instanceof GlobProblem)) throw error
    throw new Error(`the glob "${glob}" cannot be used: ${error.message}`, { cause: error })
  }
}

function checkInput(input: Record<string, unknown>): ToolCheck | undefined {
  const { pattern, output_mode } = input
  if (pattern === '') return { valid: false, error: '"pattern" is empty; say what to search for' }
  if (typeof pattern === 'string' && pattern.includes('\0'))
    return { valid: false, error: '"pattern" contains a NUL character; write \\x00 for it' }
  if (typeof output_mode === 'string' && !Object.hasOwn(modes, output_mode))
    return { valid: false, error: `"output_mode" is one of ${Object.keys(modes).join(', ')}, not "${output_mode}"` }
  return checkNumbers(input, ['-A', '-B', '-C', 'context', 'head_limit', 'offset'])
}

function inputSchema(): JsonSchema {
  return {
    type: 'object',
    properties: {
      pattern: { type: 'string', description: 'The regular expression.' },
      path: { type: 'string', description: 'The folder or file to search. Default: the working directory.' },
      glob: {
        type: 'string',
        description:
          'Only files that match, such as "*.ts", "*.{js,jsx}", "src/**/*.go" (relative to path), or without some: "!*.test.ts". Several are separated by commas.',
      },
      type: { type: 'string', description: 'Only files of a type that ripgrep knows: ts, js, py, rust, go, java, …' },
      output_mode: {
        type: 'string',
        enum: Object.keys(modes),
        description:
          'What to show: lines (content), paths of files (files_with_matches, the default), or how many lines match in each file (count).',
      },
      '-i': { type: 'boolean', description: 'Ignore case. Default false.' },
      '-n': { type: 'boolean', description: 'Show line numbers, with content. Default true.' },
      '-A': { type: 'integer', description: 'Lines to show after each match, with content.' },
      '-B': { type: 'integer', description: 'Lines to show before each match, with content.' },
      '-C': { type: 'integer', description: 'Lines to show before and after each match, with content.' },
      context: { type: 'integer', description: 'The same as -C.' },
      multiline: {
        type: 'boolean',
        description: 'Matches may go over several lines, and a dot matches newlines. Default false.',
      },
      ...pageProperties,
    },
    required: ['pattern'],
  }
}
