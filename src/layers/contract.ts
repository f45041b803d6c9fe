import type { Effect } from '../core/authority.ts'
import type { ErrorClass } from '../core/errors.ts'
import type { JsonSchema, ReplayClass } from '../core/tool.ts'
import type { ToolHost } from './host.ts'

/** The library that offers this contract. */
export { version as coreVersion } from '../core/version.ts'

export const contractVersion = '1.0.0'

/** A tool that lies in a file. Everything it may use of the world outside itself comes with `host`. */
// biome-ignore lint/suspicious/noExplicitAny: each tool knows its own input; `defineToolFile` gives it its type
export interface ToolContract<Input = any> {
  readonly kind: 'Tool'
  /** The version of the contract it was written against. */
  readonly contractVersion: string
  /** The versions of this library it works with, such as `^0.1.0`. */
  readonly requiredCoreVersion: string
  /** Must accept `enabled` and `timeoutMs` and name everything else; `x-env` lists the variables the tool may read. */
  readonly configSchema: JsonSchema & { readonly 'x-env'?: readonly string[] }
  readonly loadedCardinality?: 'unlimited'
  readonly activeCardinality?: 'unlimited'
  /** What it remembers in a session. Default `'none'`, for which `null` is another word. */
  readonly stateSlot?: StateSlot | 'none' | null
  readonly discoveryRules?: Readonly<Record<string, unknown>>
  readonly reloadBehavior: 'between-turns' | 'never'
  /** Flat: the same in every layer. */
  readonly name: string
  readonly description: string
  readonly inputSchema: JsonSchema
  /** Told to the model only; output is not checked. */
  readonly outputSchema?: JsonSchema
  /** `remote` is said by MCP clients of what they proxy, never by a file. */
  readonly executor: 'local' | 'remote'
  /** False: no approval is asked for. Does not count for the tools of a project. */
  readonly gated: boolean
  readonly deriveApprovalKey: (args: Input) => string
  readonly lifecycle: ToolLifecycle
  execute(args: Input, host: ToolHost, signal: AbortSignal): ToolAnswer | Promise<ToolAnswer>
  /** How long this call may take, where the configured time does not fit it. */
  readonly timeoutMs?: (args: Input) => number
  readonly effects?: readonly Effect[] | ((args: Input) => readonly Effect[])
  readonly isConcurrencySafe?: boolean | ((args: Input) => boolean)
  readonly replay?: ReplayClass
}

/** Absent phases do nothing. `init` and `activate` run once before the first call, the other two once after the last. */
export interface ToolLifecycle {
  init?(host: ToolHost, config: ToolConfig): void | Promise<void>
  activate?(host: ToolHost): void | Promise<void>
  /** Called when no call runs any more and no new one is let in. */
  deactivate?(host: ToolHost): void | Promise<void>
  dispose?(host: ToolHost): void | Promise<void>
}

/** A tool's configuration, as its `configSchema` allows it. */
export interface ToolConfig {
  readonly enabled: boolean
  readonly timeoutMs?: number
  readonly [name: string]: unknown
}

/** What a tool keeps has this shape. What another version of it kept is dropped unless `migrate` makes something of it. */
export interface StateSlot {
  readonly slotVersion: string | number
  readonly schema: JsonSchema
  migrate?(old: unknown, oldVersion: string | number): unknown
}

/** A failure has a class and a code to match on; of a partial success, `errors` says what is missing. */
export type ToolAnswer =
  | { readonly ok: true; readonly value: unknown; readonly errors?: readonly ToolFailure[] }
  | { readonly ok: false; readonly error: ToolFailure }

/** What went wrong, to match on and for the model. */
export interface ToolFailure {
  readonly class: ErrorClass
  readonly code: string
  readonly message: string
}

/** Gives a tool in a file its types, and nothing else. */
export function defineToolFile<Input = Record<string, unknown>>(contract: ToolContract<Input>): ToolContract<Input> {
  return contract
}
