import type { AgentEvent } from '../events/events.ts'

/** The version of these lines, beside that of the events. It changes when an old reader could misunderstand new lines. */
export const lineVersion = 1

/** The output of `libero run --events`: events, recognized by `durable`, and lines of the protocol itself. */
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
  /** The number of the last event in the session; with `--after` a later process continues there. */
  readonly head: number
}

/** A question. The client may answer it until it is closed. */
export interface RequestLine {
  readonly type: 'request'
  readonly request: string
  readonly kind: string
  readonly payload: Readonly<Record<string, unknown>>
  /** In ms since the epoch. */
  readonly expiresAt: number
}

/** The question is closed: answered, here or elsewhere, withdrawn, or expired. */
export interface RequestClosedLine {
  readonly type: 'request_closed'
  readonly request: string
}

/** The reply to a command, with its `id` if it had one. */
export interface ReplyLine {
  readonly type: 'reply'
  readonly command: string
  readonly ok: boolean
  readonly id?: string
  readonly error?: string
}

/** A `prompt` or `continue` ended without a `run_ended`: it was aborted before it began, or could not begin. */
export interface NotRunLine {
  readonly type: 'not_run'
  readonly command: string
  /** The id of the command, if it had one. */
  readonly id?: string
  readonly status: string
  readonly error?: string
}

/** The input: one JSON object a line. */
export type EventCommand = { readonly id?: string } & (PromptCommand | OtherCommand)

/** A message of the client. `meta` is kept with it and never sent to a model: an object of at most 8 KiB. */
interface ClientMessage {
  readonly message: string
  readonly clientKey?: string
  readonly meta?: Readonly<Record<string, unknown>>
}

/** Waits for the previous run. A prompt with a known `clientKey` is not run again. */
interface PromptCommand extends ClientMessage {
  readonly type: 'prompt'
}

type OtherCommand =
  | ({ readonly type: 'steer' | 'follow_up' } & ClientMessage)
  /** Continues the session without a new message; also waits for the previous run. */
  | { readonly type: 'continue' }
  /** Aborts the current run, or the next one in the queue. */
  | { readonly type: 'abort' }
  /** `value` answers the request; without it the request is refused with `reason`. */
  | { readonly type: 'answer'; readonly request: string; readonly value?: unknown; readonly reason?: string }
