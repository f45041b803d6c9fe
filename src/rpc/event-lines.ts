import type { AgentEvent } from '../events/events.ts'

/** The version of these lines beside the events; it grows when a reader of the old ones could misunderstand the new. */
export const lineVersion = 1

/** What `libero run --events` writes: the events as they are, told apart by `durable`, and lines about the talk itself. */
export type EventLine = AgentEvent | HelloLine | RequestLine | RequestClosedLine | ReplyLine | NotRunLine

/** The first line. */
export interface HelloLine {
  readonly type: 'hello'
  readonly lines: typeof lineVersion
  /** `eventVersion` of the events that follow. */
  readonly events: number
  readonly version: string
  readonly provider: string
  readonly model: string
  readonly cwd: string
  readonly session?: string
  /** The last event that the session has: what to ask for with `--after` next time, if nothing more comes. */
  readonly head: number
}

/** Somebody is asked. Whoever reads this may answer it, until it is closed. */
export interface RequestLine {
  readonly type: 'request'
  readonly request: string
  readonly kind: string
  readonly payload: Readonly<Record<string, unknown>>
  /** In ms since the epoch. */
  readonly expiresAt: number
}

/** The question is over: answered, here or elsewhere, or withdrawn, or too late. */
export interface RequestClosedLine {
  readonly type: 'request_closed'
  readonly request: string
}

/** What became of a command; with its `id`, if it had one. */
export interface ReplyLine {
  readonly type: 'reply'
  readonly command: string
  readonly ok: boolean
  readonly id?: string
  readonly error?: string
}

/** A `prompt` or `continue` is over, and there is no `run_ended` of it: it was stopped before it began, or could not begin. */
export interface NotRunLine {
  readonly type: 'not_run'
  readonly command: string
  /** Of the command, if it had one. */
  readonly id?: string
  readonly status: string
  readonly error?: string
}

/** What it reads, one JSON object a line. */
export type EventCommand = { readonly id?: string } & (PromptCommand | OtherCommand)

/** Waits for the run before it. The same `clientKey` again is the same prompt. */
interface PromptCommand {
  readonly type: 'prompt'
  readonly message: string
  readonly clientKey?: string
}

type OtherCommand =
  | { readonly type: 'steer' | 'follow_up'; readonly message: string; readonly clientKey?: string }
  /** Goes on where the session stands; waits, too. */
  | { readonly type: 'continue' }
  /** Stops the run under way, or the one about to begin. */
  | { readonly type: 'abort' }
  /** `value` answers the request; without it, `reason` says why not. */
  | { readonly type: 'answer'; readonly request: string; readonly value?: unknown; readonly reason?: string }
