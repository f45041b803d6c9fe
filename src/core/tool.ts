import type { CommandLine, Effect, ToolOrigin } from './authority.ts'
import type { ResolvedBehavior } from './behavior.ts'
import type { Child, ChildOptions } from './children.ts'
import type { ExecutionContext, ExecutionHandle } from './execution.ts'
import type { Interact } from './interaction.ts'
import { isRecord } from './is-record.ts'
import type { EntryOf, Log } from './log.ts'
import type { Session } from './store.ts'
import type { SessionContentBlock, ToolOutput } from './turn.ts'

/** A JSON Schema, as data. */
export type JsonSchema = Readonly<Record<string, unknown>>

/** The part of a tool that the model sees. */
export interface ToolSpec {
  readonly name: string
  readonly description: string
  readonly inputSchema: JsonSchema
}

/** What happens to a call if its process dies while it runs: the call runs again, runs again with the same key, or never runs again. */
export type ReplayClass = 'pure' | 'keyed' | 'opaque'

/** A function that the model may call. `Input` is the type of the checked input. */
// biome-ignore lint/suspicious/noExplicitAny: a list of tools holds tools of many inputs; `defineTool` gives each its own
export interface ToolDef<Input = any> {
  readonly spec: ToolSpec
  /** The model reads a thrown error as the result. */
  execute(input: Input, ctx: ToolContext): ToolResult | Promise<ToolResult>
  /** Whether the call may run concurrently with neighbouring calls; asked only if there are such calls. Default false. */
  readonly isConcurrencySafe?: boolean | ((input: Input) => boolean | Promise<boolean>)
  /** Default `opaque`: the call never runs again. */
  readonly replay?: ReplayClass
  readonly effects?: readonly Effect[] | ((input: Input) => readonly Effect[])
  /** The files that a call reads or changes. */
  readonly touches?: (input: Input) => readonly FileTouch[]
  /** The shell command that a call would run. */
  readonly commandLine?: (input: Input) => CommandLine
  /** The hosts that a call connects to. */
  readonly reaches?: (input: Input) => readonly string[]
  /** Whether the authority decides about each call. Default true; always true for tools of projects and servers. */
  readonly gated?: boolean
  /** The key under which an approval of this call is remembered. Must depend on the input only. */
  readonly deriveApprovalKey?: (input: Input) => string
  /**
   * How many edits a call makes that a person may allow or deny one by one. If some are denied, `execute` gets the decisions as
   * `_outcomes` in its input, makes the allowed edits, and tells what became of each edit.
   */
  readonly countEdits?: (input: Input) => number
  /** Default 30,000; 0 means no limit. */
  readonly timeoutMs?: number
  /** For the model only; the output is not checked. */
  readonly outputSchema?: JsonSchema
  /** A failed call of this tool cancels the calls that run concurrently with it. `shell` declares this. */
  readonly cancelsSiblings?: boolean
  /** Agents of this depth or deeper do not get the tool. */
  readonly maxDepth?: number
  /** Set by the loader of the tool. Default: the host program. */
  readonly origin?: ToolOrigin
  /** For tools of MCP servers: the server, and the tool's name there. */
  readonly mcp?: { readonly server: string; readonly tool: string; readonly disclosure?: 'eager' | 'lazy' }
  /**
   * Checks the repaired input before the gate: may refuse or change it; `undefined` accepts it. Must be quick and must
   * have no effects.
   */
  check?(input: Record<string, unknown>): ToolCheck | undefined
  /**
   * Computes what the call would change, before a person is asked about it. If it throws, the person is not asked and
   * the model reads the error. Must have no effects.
   */
  preview?(input: Input, ctx: PreviewContext): Promise<ToolPreview | undefined>
  /** Adds fields to `tool:before`, for instance the content of a file before it is overwritten. */
  before?(input: Input, ctx: ToolContext): Promise<Readonly<Record<string, unknown>>>
}

/** `input` is for gates; `execute` gets `parsed` in its place, if given. The log keeps the original input. */
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

/** The context of a running call. */
export interface ToolContext {
  readonly callId: string
  readonly turnId: string
  readonly runId: string
  /** Aborts when the run is cancelled, at the time limit, or when the failure of a sibling cancels this call. Does not abort after the call. */
  readonly signal: AbortSignal
  /** All attempts of one call have the same key. */
  readonly idempotencyKey: string
  /** More than 1 if the call runs again after a crash or a suspension. */
  readonly attempt: number
  readonly execution: ExecutionContext
  readonly handle: ExecutionHandle
  readonly session: Session | undefined
  /** The behavior of this run, with all defaults. */
  readonly behavior: ResolvedBehavior
  /** For `state` entries of the tool, with or without a session. */
  readonly log: Log
  /** 0 for an agent that was not spawned. */
  readonly depth: number
  /** Absent if there is no person to ask. */
  readonly interact?: Interact
  readonly progress: (text: string) => void
  /** Sets a function that returns the output so far. If the call is stopped before its end, the function is called, and the model reads what it returns. */
  readonly ifInterrupted?: (read: () => string) => void
  /** Runs another tool through the same gates and hooks. */
  readonly call: (
    name: string,
    input: Readonly<Record<string, unknown>>,
  ) => Promise<{ output: ToolOutput; isError: boolean }>
  /** Creates a child agent with the parts of this one, except for those in the options. */
  readonly createChild: (options?: ChildOptions) => Promise<Child>
  /** Leaves this call open and ends the run; a later run without a prompt starts the call again. Never returns. */
  readonly suspend: (reason: string) => never
  /** The answer that came through `session.answer` since this call was suspended. */
  readonly answer: readonly SessionContentBlock[] | undefined
}

export const defaultTimeoutMs = 30_000

/** Where a tool comes from, frozen. For a tool of a server, its own claim does not count. */
export function originOf({ mcp, origin = hostProgram }: Pick<ToolDef, 'mcp' | 'origin'>): ToolOrigin {
  if (mcp) return Object.freeze({ ...origin, layer: 'mcp', path: mcp.server })
  return Object.isFrozen(origin) ? origin : Object.freeze({ ...origin })
}

const hostProgram: ToolOrigin = Object.freeze({ layer: 'host' })

export type FileAccess = 'read' | 'edit' | 'write' | 'search'

/** A file that a call reads or changes, by the path in its input. */
export interface FileTouch {
  readonly path: string
  readonly access: FileAccess
}

/** A file that a call has read or changed. The tool puts this into its `details` as `file`, and so into the log. */
export interface TouchedFile extends FileTouch {
  /** `FileInfo.key`. */
  readonly key: string
  /** Identifies the content of the whole file after the call: its SHA-256 or, for a very large file, `stamp …`. */
  readonly digest: string
  /** The part that was read; equal texts mean equal parts. */
  readonly slice?: string
}

/** Reads the touched file in the details of a result. */
export function touchedFileOf(details: unknown): TouchedFile | undefined {
  const file = typeof details === 'object' && details !== null && 'file' in details ? details.file : undefined
  if (typeof file !== 'object' || file === null) return undefined
  const { key, digest, access } = file as Partial<TouchedFile>
  return typeof key === 'string' && typeof digest === 'string' && typeof access === 'string'
    ? (file as TouchedFile)
    : undefined
}

/** The files that calls read or changed. */
export class TouchedFiles {
  /** In the order of the results. Changed in place, because parent and child may share this map. */
  readonly byCall = new Map<string, TouchedFile>()
  /** The number of the result of each call. */
  readonly seqs = new Map<string, number>()

  add({ callId, seq, isError, details }: EntryOf<'call_result'>): void {
    const file = isError ? undefined : touchedFileOf(details)
    if (file) this.set(callId, file, seq)
  }

  set(callId: string, file: TouchedFile, seq: number): void {
    this.byCall.set(callId, file)
    this.seqs.set(callId, seq)
  }

  forget(callId: string): void {
    this.byCall.delete(callId)
    this.seqs.delete(callId)
  }

  rewind(toSeq: number): void {
    for (const [callId, seq] of this.seqs) if (seq > toSeq) this.forget(callId)
  }
}

/** The part of a `ToolContext` that a preview gets: it only reads files. */
export type PreviewContext = Pick<ToolContext, 'execution' | 'handle' | 'signal'>

/** The changes that a call would make, for the person who is asked about it. */
export interface ToolPreview {
  readonly files: readonly FilePreview[]
}

/** The change that a call would make to one file. */
export interface FilePreview {
  readonly path: string
  /** `create`: there is no such file yet; `replace`: all that the file holds is replaced; `edit`: parts of it are. */
  readonly change: 'create' | 'replace' | 'edit'
  /** The number of added and removed lines. These and `diff` are absent for files that are huge or no text. */
  readonly added?: number
  readonly removed?: number
  /** A unified diff. */
  readonly diff?: string
  /** The number of lines cut off the end of the diff. */
  readonly moreLines?: number
  /** What each edit of the call would change, one after the other, if a person may decide about each. */
  readonly edits?: readonly EditPreview[]
}

/** The change that one edit of a call would make, on the result of those before it. */
export type EditPreview = Pick<FilePreview, 'added' | 'removed' | 'diff' | 'moreLines'>

/** Checks the preview in an approval request; `undefined` if there is none. */
export function parsePreview(preview: unknown): ToolPreview | undefined {
  if (!isRecord(preview) || !Array.isArray(preview.files)) return undefined
  return { files: preview.files.filter(isRecord).map(parseFilePreview) }
}

function parseFilePreview({
  path,
  change,
  added,
  removed,
  diff,
  moreLines,
  edits,
}: Readonly<Record<string, unknown>>): FilePreview {
  return {
    path: String(path),
    change: change === 'create' || change === 'replace' ? change : 'edit',
    ...parseChange({ added, removed, diff, moreLines }),
    ...(Array.isArray(edits) && { edits: edits.map((one) => parseChange(isRecord(one) ? one : {})) }),
  }
}

function parseChange({ added, removed, diff, moreLines }: Readonly<Record<string, unknown>>): EditPreview {
  return {
    ...(typeof added === 'number' && { added }),
    ...(typeof removed === 'number' && { removed }),
    ...(typeof diff === 'string' && { diff }),
    ...(typeof moreLines === 'number' && { moreLines }),
  }
}

/** Loads the complete tool, for a tool whose code is loaded on first use. Copies of that tool keep this property. */
export const loadTool: unique symbol = Symbol('loadTool')

export interface LazyTool extends ToolDef {
  readonly [loadTool]?: () => Promise<ToolDef>
}

/** The complete tool. Only the complete tool has all declarations that a gate must know, such as `touches`. */
export async function wholeTool(tool: LazyTool): Promise<ToolDef> {
  const whole = await tool[loadTool]?.()
  return whole ? { ...whole, ...tool } : tool
}
