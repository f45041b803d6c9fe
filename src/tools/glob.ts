import type { JsonSchema, ToolCheck, ToolDef } from '../core/tool.ts'
import { folderKey } from './approval-keys.ts'
import { formatResult } from './search/format-result.ts'
import { GlobProblem } from './search/glob-pattern.ts'
import { type PathFilterSpec, strictFilter } from './search/path-filter.ts'
import { checkNumbers, pageOf, pageProperties } from './search/query.ts'
import { createSearcher, joinPath, resolveFolder, resolveRoot } from './search/searcher.ts'

const description = `Finds files by their path: \`**/*.ts\` in all folders, \`src/*.{ts,tsx}\` directly in src, \`*.md\` directly in \`path\`.
Results are sorted by path, folder by folder, and come in pages; the note in parentheses at the end tells how to get the next one.
Left out are folders themselves, \`.git\`, links, and what a \`.gitignore\` leaves out unless \`path\`, or the beginning of the pattern, names that folder. Hidden files are found.`

/** The time for the call beyond the limit of the search. */
const graceMs = 10_000

/** A tool that finds files by a glob, with ripgrep if it is installed. */
export function createGlobTool(
  options: {
    /** The ripgrep program; `false` for none. Default: the one of `@vscode/ripgrep`, or `rg` on the PATH. */
    readonly ripgrep?: string | false
    /** Milliseconds; a longer search returns what it has found. Default 50,000. */
    readonly limitMs?: number
  } = {},
): ToolDef {
  const { limitMs = 50_000 } = options
  const search = createSearcher(options)
  return {
    spec: { name: 'glob', description, inputSchema: inputSchema() },
    isConcurrencySafe: true,
    replay: 'pure',
    effects: ['fs.read'],
    timeoutMs: limitMs + graceMs,
    touches: ({ path }) => [{ path: path || '.', access: 'search' }],
    deriveApprovalKey: ({ path }) => folderKey(path),
    check: (input) => checkPattern(input.pattern) ?? checkNumbers(input, ['head_limit', 'offset']),
    async execute(input, ctx) {
      const asked = input.path || '.'
      const filter = filterOf(input.pattern)
      const givenRoot = await resolveRoot(asked, ctx)
      if (givenRoot.kind === 'file') throw new Error(`"${asked}" is a file; "path" is the folder to look in`)
      const path = joinPath(asked, filter.base.replace(/\/$/, ''))
      const root = filter.base === '' ? givenRoot : await resolveFolder(path, ctx)
      if (!root) return { output: `${nothing}: there is no folder "${path}"`, details: { total: 0, shown: 0 } }
      const query = { ...listing, ...pageOf(input), filter, limitMs }
      const result = await search(query, root, ctx)
      const output = formatResult(result, { query, path, root, unit: 'file', nothing, lineNumbers: false })
      return { output, details: { total: result.total, shown: result.entries.length } }
    },
  }
}

export const glob: ToolDef = createGlobTool()

const nothing = 'No files found'

const listing = { mode: 'list', pattern: '', ignoreCase: false, multiline: false, before: 0, after: 0 } as const

function checkPattern(pattern: unknown): ToolCheck | undefined {
  return pattern === '' ? { valid: false, error: '"pattern" is empty; "**" finds all files' } : undefined
}

function filterOf(pattern: string): PathFilterSpec {
  try {
    return strictFilter(pattern)
  } catch (error) {
    if (!(error instanceof GlobProblem)) throw error
    throw new Error(`the pattern "${pattern}" cannot be used: ${error.message}`, { cause: error })
  }
}

function inputSchema(): JsonSchema {
  return {
    type: 'object',
    properties: {
      pattern: { type: 'string', description: 'The glob, relative to path.' },
      path: { type: 'string', description: 'The folder to look in. Default: the working directory.' },
      ...pageProperties,
    },
    required: ['pattern'],
  }
}
