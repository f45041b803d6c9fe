import type { ExecResult } from '../../core/execution.ts'
import { nameGlobs, type PathFilterSpec, skippableGlobs } from './path-filter.ts'
import {
  badPattern,
  maxLineLength,
  newlineInPattern,
  type SearchContext,
  type SearchGaps,
  type SearchQuery,
  type SearchResult,
  type SearchRoot,
  unknownType,
} from './query.ts'
import { ripgrepOutput } from './ripgrep-output.ts'

/** Programs to try, best first. */
export async function ripgrepPrograms({ execution }: SearchContext): Promise<string[]> {
  const packaged = execution.capabilities.hostPrograms ? await packagedRipgrep() : undefined
  return packaged === undefined ? ['rg'] : [packaged, 'rg']
}

async function packagedRipgrep(): Promise<string | undefined> {
  try {
    return (await import('@vscode/ripgrep')).rgPath
  } catch {
    return undefined // an optional dependency, and not for every platform
  }
}

/** Searches with ripgrep; undefined if there is no such program. */
export async function searchWithRipgrep(
  program: string,
  query: SearchQuery,
  root: SearchRoot,
  { execution, handle, signal }: SearchContext,
): Promise<SearchResult | undefined> {
  const output = ripgrepOutput(query)
  let stderr = ''
  const ended = await execution.exec(handle, ripgrepCommand(program, query, root), {
    cwd: root.kind === 'folder' ? root.path : root.path.slice(0, root.path.lastIndexOf('/') + 1),
    timeout: query.limitMs,
    signal,
    ...(program.startsWith('/') && { programs: [program] }),
    onOutput(text, from) {
      if (from === 'stdout') output.take(text)
      else if (stderr.length < maxStderrLength) stderr += text
    },
  })
  signal.throwIfAborted()
  // Some contexts do not stream output, and return it at the end.
  output.take(ended.stdout)
  stderr += ended.stderr
  if (isMissing(ended, stderr)) return undefined
  return output.result(gapsOf(ended, stderr, query))
}

const maxStderrLength = 65_536

/** Missing, not executable, or too old for the options. */
function isMissing({ exitCode }: ExecResult, stderr: string): boolean {
  if (exitCode === 126 || exitCode === 127) return true
  return exitCode === 2 && /unrecognized flag|unexpected argument|Found argument/.test(stderr)
}

function gapsOf(ended: ExecResult, stderr: string, query: SearchQuery): SearchGaps {
  const { exitCode, timedOut, signal } = ended
  if (exitCode === 0 || exitCode === 1) return {}
  if (timedOut) return { stopped: 'time' }
  if (exitCode === null) throw new Error(`ripgrep was ended${signal ? ` by ${signal}` : ''}; try a smaller folder`)
  // Ripgrep reports an invalid glob in a .gitignore as a failure.
  const lines = stderr.split('\n').filter((line) => line.trim() !== '' && !line.includes('error parsing glob'))
  if (lines.length === 0) return {}
  const unreadable = lines.filter((line) => /\(os error \d+\)$/.test(line)).length
  if (unreadable === lines.length) return { unreadable }
  throw new Error(problemIn(stderr, query))
}

/** The error message of ripgrep, without hints for terminals. */
function problemIn(stderr: string, { pattern, type }: SearchQuery): string {
  if (type !== undefined && stderr.includes('unrecognized file type')) return unknownType(type)
  const [, reason] = /^error: (.*)$/m.exec(stderr) ?? []
  if (reason) return badPattern(pattern, reason)
  if (stderr.includes('not allowed in a regex')) return badPattern(pattern, newlineInPattern)
  const [first] = stderr.replace(/^rg: /, '').split('\n')
  return first || 'ripgrep failed without saying why'
}

/** The shell command. No value can be taken for an option, and no config file adds options. */
export function ripgrepCommand(program: string, query: SearchQuery, root: SearchRoot): string {
  const { filter, type, mode } = query
  const options = [...always, ...(mode === 'list' ? ['--files'] : searchOptions(query))]
  if (root.kind === 'folder') {
    if (filter.depth !== undefined) options.push(`--max-depth=${filter.depth}`)
    if (type !== undefined) options.push(`--type=${type}`)
    else if (mode !== 'list') options.push(...nameOptions(filter))
    for (const glob of [...skippableGlobs(filter), '.git']) options.push(`--glob=!${glob}`)
  }
  const path = root.kind === 'folder' ? '.' : `./${root.path.slice(root.path.lastIndexOf('/') + 1)}`
  return `exec ${[program, ...options, '--', path].map(quoted).join(' ')}`
}

/**
 * Filters by file name, to search fewer files. As a type, because a glob would include files that .gitignore excludes. Not for
 * lists, for which types are slower than filtering the paths.
 */
function nameOptions(filter: PathFilterSpec): string[] {
  const globs = nameGlobs(filter)
  return globs ? [...globs.map((glob) => `--type-add=libero:${glob}`), '--type=libero'] : []
}

const always = [
  '--no-config',
  '--hidden',
  '--no-follow',
  '--no-require-git',
  '--no-ignore-dot',
  '--no-ignore-exclude',
  '--no-ignore-global',
  '--no-ignore-messages',
  '--color=never',
  '--null',
]

function searchOptions({ mode, pattern, ignoreCase, multiline, before, after }: SearchQuery): string[] {
  const options = [`--regexp=${pattern}`, ignoreCase ? '--ignore-case' : '--case-sensitive']
  if (multiline) options.push('--multiline', '--multiline-dotall')
  if (mode === 'files') return [...options, '--files-with-matches']
  if (mode === 'count') return [...options, '--count', '--with-filename']
  // Bytes, of which a character may take four: enough to see that a line is too long, without a CR at its end.
  options.push('--heading', '--with-filename', '--line-number', `--max-columns=${(maxLineLength + 2) * 4}`)
  return [...options, '--max-columns-preview', `--before-context=${before}`, `--after-context=${after}`]
}

const quoted = (word: string): string => (/^[\w./=-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`)
