import { isRecord } from '../../core/is-record.ts'
import type { CallOutcome, LogEntry } from '../../core/log.ts'
import type { ToolOutput } from '../../core/turn.ts'
import { visibleName } from '../../platform/visible-text.ts'
import { diffCounts } from './diff-lines.ts'
import { pluralize } from './format.ts'

export type CallResult = Extract<LogEntry, { type: 'call_result' }>

/** How a call ended, in a few words; what it said where it went wrong; and what it changed. */
interface ShownOutcome {
  readonly isGood: boolean
  readonly summary: string
  readonly problem: readonly string[]
  readonly diff?: string
}

export function callOutcome({ output, outcome, isError, details }: CallResult): ShownOutcome {
  const text = textOf(output)
  const facts = isRecord(details) ? details : {}
  const isGood = !isError && (outcome === 'done' || outcome === 'substituted')
  const word = words[outcome]
  const code = exitOf(facts)
  if (!isGood)
    return { isGood, summary: word ?? code ?? 'failed', problem: problemOf(text, { isCommand: code !== undefined }) }
  if (typeof facts.diff === 'string' && facts.diff !== '')
    return { isGood, summary: changes(facts.diff), problem: [], diff: facts.diff }
  return { isGood, summary: code ?? size(output, text, facts), problem: [] }
}

const words: Partial<Record<CallOutcome, string>> = {
  blocked: 'not allowed',
  timeout: 'timed out',
  unknown_tool: 'no such tool',
  invalid: 'wrong arguments',
  aborted: 'stopped',
  skipped: 'skipped',
  cancelled: 'cancelled',
  unknown: 'nobody knows whether it was done',
}

/** Enough to find a line in; the rest of a long output is not looked at. */
const looked = 16_384

function textOf(output: ToolOutput): string {
  if (typeof output === 'string') return output
  return output.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n')
}

/** A command that ended well says so by what it wrote. */
function exitOf({ exitCode, signal }: Readonly<Record<string, unknown>>): string | undefined {
  if (typeof signal === 'string') return `killed by ${visibleName(signal)}`
  return typeof exitCode === 'number' && exitCode !== 0 ? `exit ${exitCode}` : undefined
}

/** Commands say at the end what went wrong, before the line about how they ended; everybody else at the beginning. */
function problemOf(text: string, { isCommand }: { readonly isCommand: boolean }): string[] {
  const part = isCommand ? text.slice(-looked) : text.slice(0, looked)
  const lines = part.split('\n').filter((line) => line.trim() !== '')
  if (isCommand && exitLine.test(lines.at(-1)?.trim() ?? '')) lines.pop()
  const told = isCommand ? lines.slice(-lastLines) : lines.slice(0, 1)
  return told.map((line) => visibleName(line.trimEnd().replaceAll('\t', '  ').slice(0, 500)))
}

const exitLine = /^[[(].*\bexit\b.*[\])]$/

/** Of a command that failed. */
const lastLines = 4

function changes(diff: string): string {
  const { added, removed } = diffCounts(diff)
  return `+${added} −${removed}`
}

function size(output: ToolOutput, text: string, facts: Readonly<Record<string, unknown>>): string {
  const { total, count, lines, exitCode } = facts
  const others = typeof output === 'string' ? 0 : output.filter(({ type }) => type !== 'text').length
  if (others > 0) return pluralize(others, 'file')
  if (isRecord(lines) && typeof lines.first === 'number' && typeof lines.last === 'number')
    return pluralize(Math.max(0, lines.last - lines.first + 1), 'line')
  if (typeof total === 'number') return pluralize(total, 'hit')
  if (typeof count === 'number') return pluralize(count, 'name')
  const said = typeof exitCode === 'number' ? withoutExit(text) : text
  if (said.trim() === '') return 'done'
  const found = linesIn(said)
  return found === 1 && said.trim().length <= 60 ? visibleName(said.trim()) : pluralize(found, 'line')
}

/** What a command wrote, without the line about how it ended. */
function withoutExit(text: string): string {
  const at = text.trimEnd().lastIndexOf('\n') + 1
  return exitLine.test(text.slice(at).trim()) ? text.slice(0, at) : text
}

function linesIn(text: string): number {
  let lines = text === '' || text.endsWith('\n') ? 0 : 1
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) lines++
  return lines
}

/** What a call is about, on one line: the command, the path, the pattern; else all of its input as JSON. */
export function callTitle(input: Readonly<Record<string, unknown>>, cwd: string): string {
  const main = mainArgument(input)
  if (!main) return visibleName(compact(input))
  const { key, value } = main
  const shown = isPath.test(key) ? relativeTo(cwd, value) : value.slice(0, longest)
  const { path } = input
  const where = key === 'pattern' && typeof path === 'string' && path !== '' ? ` in ${relativeTo(cwd, path)}` : ''
  return visibleName(`${shown.trim()}${where}`)
}

/** A path as somebody in that folder would write it. */
function relativeTo(cwd: string, path: string): string {
  const folder = cwd.endsWith('/') ? cwd : `${cwd}/`
  if (path === cwd) return '.'
  return (path.startsWith(folder) ? path.slice(folder.length) : path).slice(0, longest)
}

function mainArgument(
  input: Readonly<Record<string, unknown>>,
): { readonly key: string; readonly value: string } | undefined {
  for (const key of telling) {
    const value = input[key]
    if (typeof value === 'string' && value !== '') return { key, value }
  }
  return undefined
}

/** In this order: what says most. */
const telling = [
  'command',
  'pattern',
  'path',
  'file_path',
  'filePath',
  'file',
  'url',
  'query',
  'task',
  'question',
  'name',
]
const isPath = /^(?:path|file)/
/** No line of a screen is longer, and no input is looked at any further. */
const longest = 1000

/** Long texts in it are cut before they are written, not after. */
function compact(input: Readonly<Record<string, unknown>>): string {
  const keys = Object.keys(input)
  if (keys.length === 0) return ''
  try {
    const short = JSON.stringify(input, (_, value: unknown) => shortened(value))
    return short.slice(0, longest)
  } catch {
    return keys.join(', ').slice(0, longest)
  }
}

function shortened(value: unknown): unknown {
  if (typeof value === 'string' && value.length > 80) return `${value.slice(0, 80)}…`
  return Array.isArray(value) && value.length > 20 ? [...value.slice(0, 20), '…'] : value
}
