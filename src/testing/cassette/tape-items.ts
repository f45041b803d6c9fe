import {
  AgentAbortedError,
  AgentAuthError,
  AgentContextExceededError,
  AgentPromptTooLongError,
  AgentProviderError,
  AgentQuotaError,
  AgentRateLimitError,
  messageOf,
} from '../../core/errors.ts'
import { checkedAs } from '../../core/is-record.ts'
import type { EntryBody, Log } from '../../core/log.ts'
import type { ClassifiedError, ModelEvent, ModelRequest, ProviderMeta } from '../../core/provider.ts'
import type { ToolContext, ToolSpec } from '../../core/tool.ts'
import type { NormalizedResult } from '../../core/tool-result.ts'
import { copyJson, type Message } from '../../core/turn.ts'

/**
 * One thing that the program got from outside or asked for. Readings and requests happen when the program makes them;
 * the others come from outside, and replay delivers each only after everything before it on the tape.
 */
export type TapeItem =
  | { readonly type: 'now'; readonly value: number }
  | { readonly type: 'id'; readonly value: string }
  | { readonly type: 'random'; readonly value: number }
  | { readonly type: 'timer'; readonly n: number; readonly ms: number }
  | { readonly type: 'fired'; readonly n: number }
  | {
      readonly type: 'request'
      readonly n: number
      readonly by: number
      readonly session?: string
      readonly request: TapedRequest
    }
  | { readonly type: 'event'; readonly n: number; readonly event: ModelEvent }
  | { readonly type: 'failed'; readonly n: number; readonly error: TapedError }
  | { readonly type: 'ended'; readonly n: number }
  | ({ readonly type: 'execute'; readonly n: number } & TapedCall)
  | ({ readonly type: 'step'; readonly n: number } & ToolStep)
  | { readonly type: 'result'; readonly n: number; readonly result: TapedResult }

/** What is on a tape apart from the ordered items: the providers, and their answers about prices and context windows. */
export type TapeFact =
  | { readonly type: 'provider'; readonly n: number; readonly meta: ProviderMeta; readonly has: readonly string[] }
  | {
      readonly type: 'answer'
      readonly by: number
      readonly question: string
      readonly about: string
      readonly value: unknown
    }

/** A model request without fields that differ between processes. */
export interface TapedRequest {
  readonly model: string
  readonly settings: Readonly<Record<string, unknown>>
  readonly system: string
  readonly tools: readonly ToolSpec[]
  readonly messages: readonly Message[]
}

/** A call of a tool's `execute` or `before`. */
interface TapedCall {
  readonly tool: string
  readonly part: 'execute' | 'before'
  readonly callId: string
  readonly key: string
  readonly input: unknown
}

/** What a tool did through its context. A child agent cannot be recorded: a tool that has one runs again in the replay. */
export type ToolStep =
  | { readonly did: 'append'; readonly bodies: readonly EntryBody[] }
  | { readonly did: 'call'; readonly tool: string; readonly input: unknown }
  | { readonly did: 'progress'; readonly text: string }
  /** Created a child agent. Recordings say `fork`. */
  | { readonly did: 'fork' }

export type TapedResult =
  | { readonly outcome: NormalizedResult }
  | { readonly facts: unknown }
  | { readonly suspended: string }
  | { readonly error: TapedError }

/** The request as it is compared and stored. Messages are immutable, so only the list is copied. */
export function toTapedRequest(request: ModelRequest): TapedRequest {
  const { model, system, tools, messages, sessionId: _, ...settings } = request
  return { model, settings, system, tools: [...tools], messages: [...messages] }
}

/** Gets the steps of a tool. */
interface StepObserver {
  readonly mark: (step: ToolStep) => Promise<void>
  readonly note: (step: ToolStep) => void
  readonly hold?: (work: Promise<unknown>) => void
}

/**
 * A tool context that reports what the tool does through it, before it is done. `mark` is awaited, so that the step has a
 * position in the order of items; `note` is for steps that are not awaited.
 */
export function observedContext(ctx: ToolContext, { mark, note, hold }: StepObserver): ToolContext {
  const log = proxyOf(ctx.log, {
    append: (...bodies) => appendAll(bodies),
    appendAll,
  })
  return proxyOf(ctx, {
    log,
    async call(tool, input) {
      await mark({ did: 'call', tool, input: copyJson(input) })
      return ctx.call(tool, input)
    },
    async createChild(options) {
      await mark({ did: 'fork' })
      const creating = ctx.createChild(options)
      hold?.(creating)
      return creating
    },
    progress(text) {
      note({ did: 'progress', text: String(text) })
      ctx.progress(text)
    },
  })

  async function appendAll(bodies: Parameters<Log['appendAll']>[0]): Promise<void> {
    await mark({ did: 'append', bodies: copyJson(bodies) })
    await ctx.log.appendAll(bodies)
  }
}

/** The same object with some members replaced. Its own getters and methods see the original, not the proxy. */
function proxyOf<T extends object>(target: T, replaced: Partial<T>): T {
  return new Proxy(target, {
    get(_, key) {
      if (Object.hasOwn(replaced, key)) return Reflect.get(replaced, key)
      const value = Reflect.get(target, key, target) as unknown
      return typeof value === 'function' && key in Object.getPrototypeOf(target) ? bound(value, target) : value
    },
  })
}

const bound = (method: unknown, target: object): unknown => (method as (...args: unknown[]) => unknown).bind(target)

/** An error on a tape: the fields that code may act on, without its stack. */
export interface TapedError {
  readonly name: string
  readonly message: string
  readonly fields?: Readonly<Record<string, unknown>>
  /** The provider's classification. */
  readonly classified?: ClassifiedError
}

export function toTapedError(error: unknown, classified?: ClassifiedError | null): TapedError {
  const name = error instanceof Error ? error.name : 'Error'
  const fields = fieldsOf(error)
  return {
    name,
    message: messageOf(error),
    ...(Object.keys(fields).length > 0 && { fields }),
    ...(classified && { classified }),
  }
}

/** Restores the error with its original class. */
export function fromTapedError({ name, message, fields = {} }: TapedError): Error {
  if (name === 'AgentAbortedError') return new AgentAbortedError(message)
  const known = classes.find((one) => one.name === name)
  const { provider, providerCode, retryable, refused, ...rest } = fields
  const options = { provider: String(provider ?? ''), providerCode, retryable, refused }
  const given = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined))
  const error = known
    ? new known(message, checkedAs<ConstructorParameters<typeof AgentProviderError>[1]>(given))
    : new Error(message)
  if (!known) error.name = name
  return Object.assign(error, known ? rest : fields)
}

const classes = [
  AgentProviderError,
  AgentContextExceededError,
  AgentPromptTooLongError,
  AgentRateLimitError,
  AgentAuthError,
  AgentQuotaError,
] as const

const recordedFields = [
  'provider',
  'providerCode',
  'retryable',
  'refused',
  'retryAt',
  'usage',
  'code',
  'status',
  'fits',
]

function fieldsOf(error: unknown): Record<string, unknown> {
  if (typeof error !== 'object' || error === null) return {}
  const all = error as Record<string, unknown>
  return Object.fromEntries(recordedFields.flatMap((key) => (all[key] === undefined ? [] : [[key, all[key]]])))
}

/** JSON with sorted keys: equal text for equal data. */
export function stableText(value: unknown, indent?: number): string {
  return JSON.stringify(sorted(value), null, indent) ?? 'null'
}

function sorted(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(sorted)
  const source = value as Record<string, unknown>
  return Object.fromEntries(
    Object.keys(source)
      .sort()
      .map((key) => [key, sorted(source[key])]),
  )
}
