import type { Effect } from '../core/authority.ts'
import type { ErrorClass } from '../core/errors.ts'
import type { JsonSchema, ReplayClass } from '../core/tool.ts'
import type { ToolHost } from './host.ts'

/** The version of this library. */
export { version as coreVersion } from '../core/version.ts'

export const contractVersion = '1.0.0'

/** A tool in a file. It accesses the outside world only through `host`. */
// biome-ignore lint/suspicious/noExplicitAny: each tool knows its own input, and names it: `satisfies ToolContract<Input>`
export interface ToolContract<Input = any> {
  readonly kind: 'Tool'
  /** The contract version it was written for. */
  readonly contractVersion: string
  /** The range of library versions it works with, such as `^0.1.0`. */
  readonly requiredCoreVersion: string
  /** Must accept `enabled` and `timeoutMs` and declare all other fields; `x-env` lists the variables the tool may read. */
  readonly configSchema: JsonSchema & { readonly 'x-env'?: readonly string[] }
  readonly loadedCardinality?: 'unlimited'
  readonly activeCardinality?: 'unlimited'
  /** Its state in a session. Default `'none'`; `null` means the same. */
  readonly stateSlot?: StateSlot | 'none' | null
  readonly discoveryRules?: Readonly<Record<string, unknown>>
  readonly reloadBehavior: 'between-turns' | 'never'
  /** The same in every layer; a higher layer replaces a lower one. */
  readonly name: string
  readonly description: string
  readonly inputSchema: JsonSchema
  /** Only shown to the model; the output is not checked. */
  readonly outputSchema?: JsonSchema
  /** `remote` is for tools that an MCP client proxies, never for a file. */
  readonly executor: 'local' | 'remote'
  /** False: needs no approval. Ignored for tools of a project. */
  readonly gated: boolean
  readonly deriveApprovalKey: (args: Input) => string
  readonly lifecycle: ToolLifecycle
  execute(args: Input, host: ToolHost, signal: AbortSignal): ToolAnswer | Promise<ToolAnswer>
  /** The time limit of this call, if it differs from the configured one. */
  readonly timeoutMs?: (args: Input) => number
  readonly effects?: readonly Effect[] | ((args: Input) => readonly Effect[])
  readonly isConcurrencySafe?: boolean | ((args: Input) => boolean)
  readonly replay?: ReplayClass
}

/** All phases are optional. `init` and `activate` run once before the first call, the others once after the last. */
export interface ToolLifecycle {
  init?(host: ToolHost, config: ToolConfig): void | Promise<void>
  activate?(host: ToolHost): void | Promise<void>
  /** Called when no call is running and none is accepted any more. */
  deactivate?(host: ToolHost): void | Promise<void>
  dispose?(host: ToolHost): void | Promise<void>
}

/** A tool's configuration, valid by its `configSchema`. */
export interface ToolConfig {
  readonly enabled: boolean
  readonly timeoutMs?: number
  readonly [name: string]: unknown
}

/** The schema of a tool's state. State of another version is dropped unless `migrate` converts it. */
export interface StateSlot {
  readonly slotVersion: string | number
  readonly schema: JsonSchema
  migrate?(old: unknown, oldVersion: string | number): unknown
}

/** The result of a call. A failure has a class and a code; a partial success lists its `errors`. */
export type ToolAnswer =
  | { readonly ok: true; readonly value: unknown; readonly errors?: readonly ToolFailure[] }
  | { readonly ok: false; readonly error: ToolFailure }

/** A failure, for programs and for the model. */
export interface ToolFailure {
  readonly class: ErrorClass
  readonly code: string
  readonly message: string
}
