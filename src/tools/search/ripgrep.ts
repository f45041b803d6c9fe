import type { ExecResult } from '../../core/execution.ts'
import type { ToolContext } from '../../core/tool.ts'
import { nameGlobs, type PathFilterSpec, skippableGlobs } from './path-filter.ts'
import {
  badPattern,
  longestLine,
  newlineInPattern,
  type SearchGaps,
  type SearchQuery,
  type SearchResult,
  type SearchRoot,
  unknownType,
} from './query.ts'
import { ripgrepOutput } from './ripgrep-output.ts'

/** Where ripgrep may be, best first. */
export async function ripgrepPrograms({ execution }: ToolContext): Promise<string[]> {
  const own = execution.capabilities.hostPrograms ? await packagedRipgrep() : undefined
  return own === undefined ? ['rg'] : [own, 'rg']
}

async function packagedRipgrep(): Promise<string | undefined> {
  try {
    return (await import('@vscode/ripgrep')).rgPath
  } catch {
    return undefined // an optional dependency, and not for every platform
  }
}

/** Searches with ripgrep; nothing when there is no such program. */
export async function searchWithRipgrep(
  program: string,
  query: SearchQuery,
  place: SearchRoot,
  { execution, handle, signal }: ToolContext,
): Promise<SearchResult | undefined> {
  const output = ripgrepOutput(query)
  let complaints = ''
  const ended = await execution.exec(handle, ripgrepCommand(program, query, place), {
    cwd: place.kind === 'folder' ? place.path : place.path.slice(0, place.path.lastIndexOf('/') + 1),
    timeout: query.limitMs,
    signal,
    onOutput(text, from) {
      if (from === 'stdout') output.take(text)
      else if (complaints.length < mostComplaints) complaints += text
    },
  })
  signal.throwIfAborted()
  // Some contexts do not tell what comes, and give it at the end.
  output.take(ended.stdout)
  complaints += ended.stderr
  if (isMissing(ended, complaints)) return undefined
  return output.result(gapsOf(ended, complaints, query))
}

const mostComplaints = 65_536

/** Not there, not to be run, or too old for the options it gets. */
function isMissing({ exitCode }: ExecResult, complaints: string): boolean {
  if (exitCode === 126 || exitCode === 127) return true
  return exitCode === 2 && /unrecognized flag|unexpected argument|Found argument/.test(complaints)
}

function gapsOf(ended: ExecResult, complaints: string, query: SearchQuery): SearchGaps {
  const { exitCode, timedOut, signal } = ended
  if (exitCode === 0 || exitCode === 1) return {}
  if (timedOut) return { stopped: 'time' }
  if (exitCode === null) throw new Error(`ripgrep was ended${signal ? ` by ${signal}` : ''}; try a smaller folder`)
  // A line of a .gitignore that is no glob counts as a failure, whether it is told or not.
  const lines = complaints.split('\n').filter((line) => line.trim() !== '' && !line.includes('error parsing glob'))
  if (lines.length === 0) return {}
  const unreadable = lines.filter((line) => /\(os error \d+\)$/.test(line)).length
  if (unreadable === lines.length) return { unreadable }
  throw new Error(problemIn(complaints, query))
}

/** What ripgrep has to say, without what only helps at a terminal. */
function problemIn(complaints: string, { pattern, type }: SearchQuery): string {
  if (type !== undefined && complaints.includes('unrecognized file type')) return unknownType(type)
  const [, reason] = /^error: (.*)$/m.exec(complaints) ?? []
  if (reason) return badPattern(pattern, reason)
  if (complaints.includes('not allowed in a regex')) return badPattern(pattern, newlineInPattern)
  const [first] = complaints.replace(/^rg: /, '').split('\n')
  return first || 'ripgrep failed without saying why'
}

/** A command for a shell. No value in it can be taken for an option, and no file in the folder adds any. */
export function ripgrepCommand(program: string, query: SearchQuery, place: SearchRoot): string {
  const { filter, type, mode } = query
  const options = [...always, ...(mode === 'list' ? ['--files'] : searchOptions(query))]
  if (place.kind === 'folder') {
    if (filter.depth !== undefined) options.push(`--max-depth=${filter.depth}`)
    if (type !== undefined) options.push(`--type=${type}`)
    else if (mode !== 'list') options.push(...nameOptions(filter))
    for (const glob of [...skippableGlobs(filter), '.git']) options.push(`--glob=!${glob}`)
  }
  const path = place.kind === 'folder' ? '.' : `./${place.path.slice(place.path.lastIndexOf('/') + 1)}`
  return `exec ${[program, ...options, '--', path].map(quoted).join(' ')}`
}

/**
 * So that files are not searched in vain. By a type, because a glob would bring back what .gitignore leaves out. For a
 * list, ripgrep takes longer over types than we over the paths.
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
  // Bytes, of which a character may take four: enough to see that a line is too long, a CR at its end apart.
  options.push('--heading', '--with-filename', '--line-number', `--max-columns=${(longestLine + 2) * 4}`)
  return [...options, '--max-columns-preview', `--before-context=${before}`, `--after-context=${after}`]
}

const quoted = (word: string): string => (/^[\w./=-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`)
