import type { ModelReply } from '../../core/provider.ts'
import type { ProviderData, ThinkingBlock, TurnUsage } from '../../core/turn.ts'
import { firstAmount, providerDataOf, withProviderData } from './payload.ts'

export const wireName = 'openai-responses'

/** One output item. */
export interface Item {
  readonly kind: 'message' | 'reasoning' | 'function_call' | 'custom_call' | 'other'
  readonly callId: string
  /** Set for an item of the service's own kind that the client must run. */
  call?: ClientCall
  /** In the order in which they came. */
  readonly parts: Part[]
  raw: RawItem
  isDone?: boolean
}

export interface Part {
  readonly kind: PartKind
  readonly index: number
  text: string
  annotations?: readonly unknown[]
}

export type PartKind = 'output_text' | 'refusal' | 'summary_text' | 'reasoning_text' | 'arguments'

export type RawItem = Readonly<Record<string, unknown>> & { readonly type: string }

export const isCall = ({ kind, call }: Item): boolean =>
  kind === 'function_call' || kind === 'custom_call' || call !== undefined

/** The separator between the parts of a summary. */
export const paragraph = '\n\n'

/**
 * What is stored with a block to send it back. The names of the fields are fixed, because existing logs have them. Code that reads a field
 * gives its value the name in parentheses.
 */
export interface StoredData {
  /** A whole item of the service's own kind (`serviceItem`). */
  readonly block?: object
  /** Only sent to the model that made it (`forSameModel`). */
  readonly bound?: {
    readonly id?: string
    readonly phase?: string
    readonly annotations?: readonly unknown[]
    readonly refusal?: true
    readonly encrypted_content?: string
    /** The lengths of the parts of a summary. */
    readonly lengths?: readonly number[]
  }
}

/**
 * Converts the items to blocks. A service accepts reasoning back only with the item after it. If that item will not be sent back
 * (there is none, or its text is blank), the reasoning is kept as plain text for display, without the data needed to send it back.
 */
export function contentOf(items: readonly Item[]): Blocks {
  const byItem = items.map(blocksOf)
  return byItem.flatMap((blocks, i) => {
    const isKept = items[i]!.kind !== 'reasoning' || byItem[i + 1]?.some(isSent)
    if (isKept) return blocks
    return blocks.flatMap((block): Blocks => ('text' in block && block.text !== '' ? [thought(block.text)] : []))
  })
}

type Blocks = ModelReply['content']

const thought = (text: string): ThinkingBlock => ({ type: 'thinking', text })

function isSent(block: Blocks[number]): boolean {
  if (block.type !== 'text') return block.type !== 'thinking'
  const { block: serviceItem } = providerDataOf<StoredData>(wireName, block)
  return block.text.trim() !== '' || serviceItem !== undefined
}

function blocksOf(item: Item): Blocks {
  const { kind, raw, isDone } = item
  const parts = item.parts.filter(({ text }) => text !== '')
  switch (kind) {
    case 'message':
      return parts.map((part) => ({
        type: 'text',
        text: part.text,
        ...storedData({ bound: messageData(raw, part) }),
      }))
    case 'reasoning':
      return thinkingOf(raw, parts)
    case 'function_call':
    case 'custom_call': {
      const { id, name, namespace, caller, async: isAsync } = raw
      const data = { bound: { id }, namespace, caller, async: isAsync }
      return [
        {
          type: 'tool_call',
          id: item.callId,
          name: String(name ?? ''),
          input: parts[0]?.text ?? '{}',
          ...storedData(data),
        },
      ]
    }
    case 'other':
      if (item.call)
        return [{ type: 'tool_call', id: item.callId, name: item.call.name, input: parts[0]?.text ?? '{}' }]
      // The service runs such an item itself and needs it back unchanged; an incomplete one is dropped.
      return isDone ? [{ type: 'text', text: '', ...storedData({ block: raw }) }] : []
  }
}

const messageData = ({ id, phase }: RawItem, { kind, annotations }: Part): object => ({
  id,
  phase,
  annotations,
  refusal: kind === 'refusal' ? true : undefined,
})

/** Reasoning without encrypted content is shown, but cannot be sent back. */
function thinkingOf({ id, encrypted_content }: RawItem, parts: readonly Part[]): Blocks {
  const text = parts.map((part) => part.text).join(paragraph)
  if (typeof encrypted_content !== 'string') return text === '' ? [] : [thought(text)]
  // Services accept summaries back, but not the reasoning text.
  const isSummary = parts.every(({ kind }) => kind === 'summary_text')
  const lengths = isSummary ? parts.map((part) => part.text.length) : []
  return [{ ...thought(text), ...storedData({ bound: { id, encrypted_content, lengths } }) }]
}

/** The data to send back, without undefined fields. */
function storedData(data: Record<string, unknown>): { providerData?: ProviderData } {
  const kept = definedFields({ ...data, ...('bound' in data && { bound: definedFields(data.bound as object) }) })
  return kept ? withProviderData(wireName, kept) : {}
}

function definedFields(data: object): object | undefined {
  const entries = Object.entries(data).filter(([, value]) => value !== undefined && value !== null)
  return entries.length > 0 ? Object.fromEntries(entries) : undefined
}

/** The service includes cached tokens in `input_tokens`; some services exclude them. */
export function usageOf(usage: RawUsage | null | undefined): TurnUsage {
  const all = firstAmount(usage?.input_tokens) ?? 0
  const cacheRead = firstAmount(usage?.input_tokens_details?.cached_tokens)
  const cacheCreation = firstAmount(usage?.input_tokens_details?.cache_write_tokens)
  const fresh = all - (cacheRead ?? 0) - (cacheCreation ?? 0)
  const cost = firstAmount(usage?.cost)
  const output = firstAmount(usage?.output_tokens) ?? 0
  const reasoning = firstAmount(usage?.output_tokens_details?.reasoning_tokens)
  return {
    input: fresh >= 0 ? fresh : all,
    output,
    ...(reasoning !== undefined && { reasoning: Math.min(reasoning, output) }),
    ...(cacheRead !== undefined && { cacheRead }),
    ...(cacheCreation !== undefined && { cacheCreation }),
    ...(cost !== undefined && { cost }),
  }
}

export interface RawUsage {
  readonly input_tokens?: unknown
  readonly input_tokens_details?: { readonly cached_tokens?: unknown; readonly cache_write_tokens?: unknown } | null
  readonly output_tokens?: unknown
  readonly output_tokens_details?: { readonly reasoning_tokens?: unknown } | null
  readonly cost?: unknown
}

/** A call that the client must run. */
interface ClientCall {
  readonly name: string
  readonly input: object
}

/**
 * Finds the calls of OpenAI's own tools that run at the client: a patch, a shell, a screen, a search for tools. They
 * become ordinary calls, with the names and inputs that the AI SDK gives them, and are sent back as ordinary calls,
 * because a result does not say which kind of output it must be.
 */
export function clientCalls(items: readonly RawItem[]): ReadonlyMap<RawItem, ClientCall> {
  const answered = new Set(items.flatMap(({ type, call_id }) => (String(type).endsWith('_output') ? [call_id] : [])))
  const calls = new Map<RawItem, ClientCall>()
  for (const item of items) {
    // A call without an id cannot be answered; one with an output was answered already.
    if (typeof item.call_id !== 'string' || answered.has(item.call_id)) continue
    const call = readers.get(item.type)?.(item)
    if (call) calls.set(item, call)
  }
  return calls
}

const readers: ReadonlyMap<string, (item: RawItem) => ClientCall | undefined> = new Map([
  ['apply_patch_call', readPatch],
  ['local_shell_call', readLocalShell],
  ['shell_call', readShell],
  ['computer_call', readComputer],
  ['tool_search_call', readToolSearch],
])

function readPatch({ call_id, operation, status }: RawItem): ClientCall | undefined {
  return status === 'completed' ? { name: 'apply_patch', input: { callId: call_id, operation } } : undefined
}

function readLocalShell({ action }: RawItem): ClientCall {
  const { command, timeout_ms, user, working_directory, env } = record(action)
  const exec = { type: 'exec', command, timeoutMs: timeout_ms, user, workingDirectory: working_directory, env }
  return { name: 'local_shell', input: { action: exec } }
}

/** With a container of the service, the service runs the command itself. */
function readShell({ action, environment }: RawItem): ClientCall | undefined {
  if (String(record(environment).type ?? 'local') !== 'local') return undefined
  const { commands, timeout_ms, max_output_length } = record(action)
  const input = { commands, timeoutMs: timeout_ms ?? undefined, maxOutputLength: max_output_length ?? undefined }
  return { name: 'shell', input: { action: input } }
}

function readComputer({ action, actions, pending_safety_checks, status }: RawItem): ClientCall {
  const all = actions ?? (action ? [action] : [])
  return {
    name: 'computer',
    input: {
      actions: list(all).map(readAction),
      pendingSafetyChecks: list(pending_safety_checks).map(withoutNulls),
      status,
    },
  }
}

const readAction = ({ scroll_x, scroll_y, ...action }: Raw): object =>
  withoutNulls({ ...action, scrollX: scroll_x, scrollY: scroll_y })

const withoutNulls = (value: Raw): object =>
  Object.fromEntries(Object.entries(value).filter(([, inner]) => inner !== null && inner !== undefined))

function readToolSearch({ arguments: args, call_id, execution }: RawItem): ClientCall | undefined {
  return execution === 'client' ? { name: 'tool_search', input: { arguments: args, call_id } } : undefined
}

type Raw = Readonly<Record<string, unknown>>

const record = (value: unknown): Raw => (typeof value === 'object' && value !== null ? (value as Raw) : {})
const list = (value: unknown): readonly Raw[] => (Array.isArray(value) ? value.map(record) : [])
