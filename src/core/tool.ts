import type { CommandLine, Effect, ToolOrigin } from './authority.ts'
import type { ResolvedBehavior } from './behavior.ts'
import type { ExecutionContext, ExecutionHandle } from './execution.ts'
import type { Child, ForkOptions } from './fork.ts'
import type { Interact } from './interaction.ts'
import { isRecord } from './is-record.ts'
import type { Log } from './log.ts'
import type { Session } from './store.ts'
import type { SessionContentBlock, ToolOutput } from './turn.ts'

/** A JSON Schema, as data. */
export type JsonSchema = Readonly<Record<string, unknown>>

/** What a model is told about a tool. */
export interface ToolSpec {
  readonly name: string
  readonly description: string
  readonly inputSchema: JsonSchema
}

/** What may happen to a call that was running when its process died: run again, run again under the same key, or never. */
export type ReplayClass = 'pure' | 'keyed' | 'opaque'

/** Something the model may ask us to do. `Input` is what `execute` expects after checking. */
// biome-ignore lint/suspicious/noExplicitAny: a list of tools holds tools of many inputs; `defineTool` gives each its own
export interface ToolDef<Input = any> {
  readonly spec: ToolSpec
  /** A thrown error becomes a result that the model reads. */
  execute(input: Input, ctx: ToolContext): ToolResult | Promise<ToolResult>
  /** May run beside its neighbours. Default false: it runs alone. */
  readonly isConcurrencySafe?: boolean | ((input: Input) => boolean)
  /** Default `opaque`: never run again. */
  readonly replay?: ReplayClass
  readonly effects?: readonly Effect[] | ((input: Input) => readonly Effect[])
  /** The files a call is about, for whoever guards or follows them. */
  readonly touches?: (input: Input) => readonly FileTouch[]
  /** The shell line a call would run, for whoever has to judge it. */
  readonly commandLine?: (input: Input) => CommandLine
  /** The hosts a call talks to. */
  readonly reaches?: (input: Input) => readonly string[]
  /** Default true: the authority, where there is one, decides on each call. Tools of a project or a server always are. */
  readonly gated?: boolean
  /** What an approval of this call is remembered under; must not depend on anything but the input. */
  readonly deriveApprovalKey?: (input: Input) => string
  /** Default 30,000; 0 means no limit. */
  readonly timeoutMs?: number
  /** Told to the model only; output is not checked. */
  readonly outputSchema?: JsonSchema
  /** A failure makes the calls beside it pointless, as with shell commands. */
  readonly cancelsSiblings?: boolean
  /** Not offered to agents this many levels down, or deeper. */
  readonly maxDepth?: number
  /** Set by whoever loads tools from somewhere. Default: the host program gave it. */
  readonly origin?: ToolOrigin
  /** Where a proxied tool really lives. */
  readonly mcp?: { readonly server: string; readonly tool: string; readonly disclosure?: 'eager' | 'lazy' }
  /**
   * A further look at the mended input, before anybody is asked: refuse it, or say what it becomes. `undefined` leaves
   * it as it is. Must be quick, and must not touch anything outside.
   */
  check?(input: Record<string, unknown>): ToolCheck | undefined
  /**
   * What the call would change, worked out before a person is asked about it. Where it throws, the call cannot work: the
   * person is not asked, and the model reads the error. Must change nothing.
   */
  preview?(input: Input, ctx: PreviewContext): Promise<ToolPreview | undefined>
  /** Adds fields to `tool:before`, for instance what a file held before it is overwritten. */
  before?(input: Input, ctx: ToolContext): Promise<Readonly<Record<string, unknown>>>
}

/** `input` is what gates judge; `parsed`, where given, is what `execute` gets in its place. The log keeps what was sent. */
export type ToolCheck =
  | { readonly valid: true; readonly input?: Record<string, unknown>; readonly parsed?: unknown }
  | { readonly valid: false; readonly error: string }

/** Text or blocks for the model; `details` are for screens and never sent to it. Any other value is shown as JSON. */
export type ToolResult =
  | ToolOutput
  | { readonly output: ToolOutput; readonly details?: unknown; readonly isError?: boolean }
  | object
  | number
  | boolean
  | bigint
  | null
  | undefined
  | void

/** What a running call may use. */
export interface ToolContext {
  readonly callId: string
  readonly turnId: string
  readonly runId: string
  /** Aborted when the run is, when the time limit is over, or when a sibling's failure cancels this call. */
  readonly signal: AbortSignal
  /** The same over retries and restarts of one call. */
  readonly idempotencyKey: string
  /** 1, or more when a call that had left its mark runs again after a crash. */
  readonly attempt: number
  readonly execution: ExecutionContext
  readonly handle: ExecutionHandle
  readonly session: Session | undefined
  /** What this run was told, all defaults filled in. */
  readonly behavior: ResolvedBehavior
  /** Where a tool finds again what it wrote as a `state` entry, with a session or without. */
  readonly log: Log
  /** 0 for an agent that nobody spawned. */
  readonly depth: number
  /** Absent when nobody can be asked. */
  readonly interact?: Interact
  readonly progress: (text: string) => void
  /** Says how to find out what this call has printed so far: the model is told, should the call be stopped before its end. */
  readonly ifInterrupted?: (read: () => string) => void
  /** Runs another tool through the same gates and hooks. */
  readonly call: (
    name: string,
    input: Readonly<Record<string, unknown>>,
  ) => Promise<{ output: ToolOutput; isError: boolean }>
  /** A child agent with everything this one has, unless told otherwise. */
  readonly fork: (options?: ForkOptions) => Promise<Child>
  /** Leaves this call open and ends the run; a later run without a prompt starts the call anew. Never returns. */
  readonly suspend: (reason: string) => never
  /** What somebody answered, through `session.answer`, since this call was suspended. */
  readonly answer: readonly SessionContentBlock[] | undefined
}

export const defaultTimeoutMs = 30_000

/** Where a tool comes from, frozen. What it says of itself does not count where a server offers it. */
export function originOf({ mcp, origin = hostProgram }: Pick<ToolDef, 'mcp' | 'origin'>): ToolOrigin {
  if (mcp) return Object.freeze({ ...origin, layer: 'mcp', path: mcp.server })
  return Object.isFrozen(origin) ? origin : Object.freeze({ ...origin })
}

const hostProgram: ToolOrigin = Object.freeze({ layer: 'host' })

export type FileAccess = 'read' | 'edit' | 'write' | 'search'

/** A file that a call is about, by the path it was given. */
export interface FileTouch {
  readonly path: string
  readonly access: FileAccess
}

/** What became of it: a tool that read or changed a file puts this into its `details` as `file`, and so into the log. */
export interface TouchedFile extends FileTouch {
  /** `FileInfo.key`. */
  readonly key: string
  /** Of the whole file, after the call. */
  readonly digest: string
  /** Which part was read, in a form that is equal for equal parts. */
  readonly slice?: string
}

/** The touched file in a tool's details, which may come from anywhere. */
export function touchedFileOf(details: unknown): TouchedFile | undefined {
  const file = typeof details === 'object' && details !== null && 'file' in details ? details.file : undefined
  if (typeof file !== 'object' || file === null) return undefined
  const { key, digest, access } = file as Partial<TouchedFile>
  return typeof key === 'string' && typeof digest === 'string' && typeof access === 'string'
    ? (file as TouchedFile)
    : undefined
}

/** The part of a `ToolContext` that a preview gets: it looks at files, and changes nothing. */
export type PreviewContext = Pick<ToolContext, 'execution' | 'handle' | 'signal'>

/** What a call would change, for the person who is asked about it. */
export interface ToolPreview {
  readonly files: readonly FilePreview[]
}

/** What a call would make of one file. */
export interface FilePreview {
  readonly path: string
  /** `create`: there is no such file yet; `replace`: all that the file holds is replaced; `edit`: parts of it are. */
  readonly change: 'create' | 'replace' | 'edit'
  /** How many lines the whole change adds and removes. These and `diff` are absent between files that are not text, or huge. */
  readonly added?: number
  readonly removed?: number
  /** A unified diff. */
  readonly diff?: string
  /** Lines at the end of the diff that are left out of it. */
  readonly moreLines?: number
}

/** The preview in a question that may come from anywhere; `undefined` where there is none. */
export function readPreview(preview: unknown): ToolPreview | undefined {
  if (!isRecord(preview) || !Array.isArray(preview.files)) return undefined
  return { files: preview.files.filter(isRecord).map(readFile) }
}

function readFile({ path, change, added, removed, diff, moreLines }: Readonly<Record<string, unknown>>): FilePreview {
  return {
    path: String(path),
    change: change === 'create' || change === 'replace' ? change : 'edit',
    ...(typeof added === 'number' && { added }),
    ...(typeof removed === 'number' && { removed }),
    ...(typeof diff === 'string' && { diff }),
    ...(typeof moreLines === 'number' && { moreLines }),
  }
}

/** Gives the whole tool behind one whose code is loaded when it is needed. A copy of it with other settings has this too. */
export const loadTool: unique symbol = Symbol('loadTool')

export interface LazyTool extends ToolDef {
  readonly [loadTool]?: () => Promise<ToolDef>
}

/** A tool with all that it declares, without which it must not be judged: which files a call is about, for instance. */
export async function wholeTool(tool: LazyTool): Promise<ToolDef> {
  const whole = await tool[loadTool]?.()
  return whole ? { ...whole, ...tool } : tool
}
