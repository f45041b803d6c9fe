import type { ExecResult } from '../../core/execution.ts'
import { cutText } from '../../core/text.ts'
import { visibleName } from '../../platform/visible-text.ts'
import type { CollectedOutput } from './output-collector.ts'

/** An ended command with its output. */
interface EndedCommand {
  readonly result: ExecResult
  /** Its exit code means "nothing found" or "false", and is no failure. */
  readonly isNo?: boolean
  readonly output: CollectedOutput
  readonly elapsedMs: number
  /** 0 for no limit. */
  readonly timeoutMs: number
  /** The maximum that may be requested; 0 for no maximum. */
  readonly maxTimeoutMs: number
  /** Whether background jobs are available. */
  readonly background: boolean
  /** Whether it was started as a background job. */
  readonly isJob?: boolean
}

/** The result of an ended command for the model. */
export function shellResult(ended: EndedCommand, { metadata }: { readonly metadata: boolean }): ShellToolResult {
  const { result, output, elapsedMs, isNo = false } = ended
  const { exitCode, signal, leftRunning } = result
  const timedOut = isTimedOut(ended)
  const isError = exitCode !== 0 && !isNo
  const body = withTruncationMarker(output)
  const details = {
    exitCode,
    durationMs: elapsedMs,
    ...(signal !== undefined && { signal }),
    ...(timedOut && { timedOut }),
    ...(output.dropped > 0 && { droppedBytes: output.dropped }),
    ...(leftRunning?.length && { leftRunning }),
    ...(result.sandbox && { sandbox: result.sandbox }),
  }
  return {
    output: metadata ? joinLines(body || '(no output)', footerOf(ended, timedOut)) : body,
    isError,
    details,
  }
}

export interface ShellToolResult {
  readonly output: string
  readonly isError: boolean
  readonly details: Readonly<Record<string, unknown>>
}

/** The output, preceded by how much was dropped. */
export function withTruncationMarker({ text, dropped }: CollectedOutput): string {
  return dropped > 0 ? `…(${dropped} bytes truncated from head)…\n${text}` : text
}

/** Puts the second text on a new line. */
export function joinLines(first: string, second: string): string {
  return first === '' || first.endsWith('\n') ? first + second : `${first}\n${second}`
}

/** `exit 1`, `killed by SIGKILL`. */
export function endOf({ exitCode, signal }: ExecResult): string {
  if (signal !== undefined) return `killed by ${visibleName(signal)}`
  return exitCode === null ? 'killed' : `exit ${exitCode}`
}

/** Also for contexts that do not report why a command has no exit code. */
function isTimedOut({ result, elapsedMs, timeoutMs }: EndedCommand): boolean {
  if (result.timedOut !== undefined) return result.timedOut
  return result.exitCode === null && result.signal === undefined && timeoutMs > 0 && elapsedMs >= timeoutMs
}

function footerOf(ended: EndedCommand, timedOut: boolean): string {
  const { result, output, elapsedMs, timeoutMs } = ended
  const notes = [
    timedOut && afterTimeout(ended),
    output.overwritten > 0 && `${output.overwritten} overwritten progress lines left out`,
    leftRunningNote(ended),
    sandboxNote(ended),
  ].filter((note) => typeof note === 'string')
  const end = timedOut ? `timed out after ${timeoutMs}ms` : endOf(result)
  return [`(${end}, ${elapsedMs}ms)`, ...notes.map((note) => `(${note})`)].join('\n')
}

function afterTimeout({ timeoutMs, maxTimeoutMs, background }: EndedCommand): string {
  const ways = [
    timeoutMs < 1000 && 'timeout is in milliseconds',
    timeoutMs !== maxTimeoutMs && `ask for more with timeout${maxTimeoutMs > 0 ? `, up to ${maxTimeoutMs}` : ''}`,
    background && 'use background: true for what takes longer or never ends',
  ].filter((way) => typeof way === 'string')
  return ['it was stopped; the output is what came until then', ...ways].join('; ')
}

function sandboxNote({ result }: EndedCommand): string | undefined {
  const hint = result.sandbox?.hint
  return (
    hint && `${hint}. If it has to reach that, run it again with outside: true and say why; a person is asked first`
  )
}

function leftRunningNote({ result, background, isJob }: EndedCommand): string | undefined {
  const stillRunning = result.leftRunning ?? []
  if (stillRunning.length === 0) return undefined
  const shown = stillRunning.slice(0, maxNamedCommands).map((line) => shortCommand(line))
  const more = stillRunning.length > maxNamedCommands ? ` and ${stillRunning.length - maxNamedCommands} more` : ''
  const note = `still running when the command ended, now stopped: ${shown.join('; ')}${more}`
  if (isJob) return `${note}; a job lasts as long as its command, so do not end that with &`
  return background ? `${note}; use background: true for what should go on` : note
}

const maxNamedCommands = 5
const maxShownLength = 100

/** A command on one line, shortened. */
export function shortCommand(command: string): string {
  const line = visibleName(command.trim())
  return cutText(line, maxShownLength)
}
