import { editCounts } from '../core/edit-outcomes.ts'
import { isRecord } from '../core/is-record.ts'
import type { CallOutcome } from '../core/log.ts'
import { cutText } from '../core/text.ts'
import type { ToolOutput } from '../core/turn.ts'
import { pluralize } from '../platform/format.ts'
import { visibleName } from '../platform/visible-text.ts'
import type { CallResultView } from '../view/rows.ts'
import { diffCounts } from './diff-counts.ts'

/** The end of a call: a few words, the end of its output if it failed, and the diff of its changes. */
interface ShownOutcome {
  readonly isGood: boolean
  readonly summary: string
  readonly problem: readonly string[]
  readonly diff?: string
}

export function callOutcome({ output, outcome, isError, details, diff, edits }: CallResultView): ShownOutcome {
  const text = textOf(output)
  const facts = isRecord(details) ? details : {}
  const isGood = !isError && (outcome === 'done' || outcome === 'substituted')
  const code = exitOf(facts)
  if (!isGood) {
    const isCommand = code !== undefined
    const lines = isCommand ? lineCount(text) : undefined
    const summary = [outcomeLabels[outcome] ?? code ?? 'failed', ...(lines === undefined ? [] : [lines])].join(' · ')
    // Who stopped it knows why; the text is for the model.
    return { isGood, summary, problem: outcome === 'aborted' ? [] : problemOf(text, { isCommand }) }
  }
  if (diff !== undefined) {
    const { added, removed } = diffCounts(diff)
    const summary = [...(edits ? [editCounts(edits)] : []), `+${added} −${removed}`].join(' · ')
    return { isGood, summary, problem: [], diff }
  }
  return { isGood, summary: code ?? size(output, text, facts), problem: [] }
}

const outcomeLabels: Partial<Record<CallOutcome, string>> = {
  blocked: 'not allowed',
  timeout: 'timed out',
  unknown_tool: 'no such tool',
  invalid: 'wrong arguments',
  aborted: 'stopped',
  skipped: 'skipped',
  cancelled: 'cancelled',
  unknown: 'unknown whether it ran',
}

/** How much of a long output is searched for lines to show. */
const searched = 16_384

function textOf(output: ToolOutput): string {
  if (typeof output === 'string') return output
  return output.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n')
}

/** How a command failed; `undefined` if it exited with 0. */
function exitOf({ exitCode, signal }: Readonly<Record<string, unknown>>): string | undefined {
  if (typeof signal === 'string') return `killed by ${visibleName(signal)}`
  return typeof exitCode === 'number' && exitCode !== 0 ? `exit ${exitCode}` : undefined
}

/** Commands report errors at the end of their output, other tools at the beginning. */
function problemOf(text: string, { isCommand }: { readonly isCommand: boolean }): string[] {
  const part = isCommand ? text.slice(-searched) : text.slice(0, searched)
  const lines = part.split('\n').filter((line) => line.trim() !== '')
  if (isCommand && exitLine.test(lines.at(-1)?.trim() ?? '')) lines.pop()
  const telling = isCommand ? lines.findIndex((line) => isTelling.test(line)) : 0
  const shown = telling < 0 ? lines.slice(-lastLines) : lines.slice(telling, telling + (isCommand ? 2 : 1))
  return shown.map((line) => visibleName(line.trimEnd().replaceAll('\t', '  ').slice(0, 500)))
}

const exitLine = /^[[(].*\bexit\b.*[\])]$/

/** Lines shown of a failed command none of whose lines says what failed. */
const lastLines = 4

/** A line that says what failed. A count of no errors does not. */
const isTelling =
  /^(?!.*\b(?:0|no) (?:errors?|fail)).*(?:\berror\b|\w(?:Error|Exception)\b|\bfail(?:ed|ure)?\b|\bpanic|✗|✘|✖|\bnot ok\b|\bfatal\b|\bcannot\b|\bdenied\b)/i

/** How many lines a command wrote, if it is more than what is shown of them. */
function lineCount(text: string): string | undefined {
  const written = withoutExit(text).trimEnd()
  const count = written.split('\n').length
  return count > lastLines ? pluralize(count, 'line') : undefined
}

function size(output: ToolOutput, text: string, facts: Readonly<Record<string, unknown>>): string {
  const { total, count, lines, exitCode, job, isRunning } = facts
  if (typeof job === 'number') return `job ${job} ${isRunning === true ? 'runs' : 'has ended'}`
  const others = typeof output === 'string' ? 0 : output.filter(({ type }) => type !== 'text').length
  if (others > 0) return pluralize(others, 'file')
  if (isRecord(lines) && typeof lines.first === 'number' && typeof lines.last === 'number')
    return pluralize(Math.max(0, lines.last - lines.first + 1), 'line')
  if (typeof total === 'number') return pluralize(total, 'hit')
  if (typeof count === 'number') return pluralize(count, 'name')
  const written = typeof exitCode === 'number' ? withoutExit(text) : text
  if (written.trim() === '') return 'done'
  const found = written.replace(/\n$/, '').split('\n').length
  return found === 1 && written.trim().length <= 60 ? visibleName(written.trim()) : pluralize(found, 'line')
}

/** The output without the line about the exit code. */
function withoutExit(text: string): string {
  const at = text.trimEnd().lastIndexOf('\n') + 1
  return exitLine.test(text.slice(at).trim()) ? text.slice(0, at) : text
}

/** The main argument of a call on one line: the command, the path, the pattern; else the whole input as JSON. */
export function callTitle(input: Readonly<Record<string, unknown>>, cwd: string): string {
  if (Array.isArray(input.todos)) return '' // the list stands below
  const key = mainKeys.find((name) => typeof input[name] === 'string' && input[name] !== '')
  if (key === undefined) return visibleName(compactJson(input))
  const value = String(input[key])
  const shown = isPath.test(key) ? relativeTo(cwd, value) : textOfKey(key, value).slice(0, longest)
  const { path } = input
  const where = key === 'pattern' && typeof path === 'string' && path !== '' ? ` in ${relativeTo(cwd, path)}` : ''
  return visibleName(`${shown.trim()}${where}`)
}

/** A plan is called by its first line; the dialog has shown the rest. */
const textOfKey = (key: string, value: string): string =>
  key === 'plan' ? (value.trim().split('\n')[0] ?? '').replace(/^#+\s*/, '') : value

function relativeTo(cwd: string, path: string): string {
  const folder = cwd.endsWith('/') ? cwd : `${cwd}/`
  if (path === cwd) return '.'
  return (path.startsWith(folder) ? path.slice(folder.length) : path).slice(0, longest)
}

/** The most informative first. */
const mainKeys = [
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
  'plan',
  'name',
]
const isPath = /^(?:path|file)/
/** No line of a screen is longer. */
const longest = 1000

/** Cuts long texts before it writes JSON, not after. */
function compactJson(input: Readonly<Record<string, unknown>>): string {
  const keys = Object.keys(input)
  if (keys.length === 0) return ''
  try {
    return JSON.stringify(input, (_, value: unknown) => shortened(value)).slice(0, longest)
  } catch {
    return keys.join(', ').slice(0, longest)
  }
}

function shortened(value: unknown): unknown {
  if (typeof value === 'string') return cutText(value, 80)
  return Array.isArray(value) && value.length > 20 ? [...value.slice(0, 20), '…'] : value
}
