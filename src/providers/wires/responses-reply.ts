import type { ModelReply } from '../../core/provider.ts'
import type { ProviderData, ThinkingBlock, TurnUsage } from '../../core/turn.ts'
import { countOf, withOwn } from './payload.ts'

export const wireName = 'openai-responses'

/** One element of the answer. */
export interface Item {
  readonly kind: 'message' | 'reasoning' | 'function_call' | 'custom_call' | 'other'
  readonly callId: string
  /** Of the service's own kind, but to be run by the client. */
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

/** Between the parts of a summary, in what is shown and in what is kept. */
export const paragraph = '\n\n'

/** What is kept of an item for the way back; `bound` only for the model that made it. */
export interface Own {
  /** A whole item of the service's own kind. */
  readonly block?: object
  readonly bound?: {
    readonly id?: string
    readonly phase?: string
    readonly annotations?: readonly unknown[]
    readonly refusal?: true
    readonly encrypted_content?: string
    /** Of the parts of a summary. */
    readonly lengths?: readonly number[]
  }
}

/** What the items are in our words. */
export function contentOf(items: readonly Item[]): Blocks {
  const said = items.map(blocksOf)
  return said.flatMap((blocks, i) => {
    // Reasoning is sent back only together with the item it led to, and blank text is not sent at all.
    const isKept = items[i]!.kind !== 'reasoning' || said[i + 1]?.some(isSent)
    if (isKept) return blocks
    return blocks.flatMap((block): Blocks => ('text' in block && block.text !== '' ? [thought(block.text)] : []))
  })
}

type Blocks = ModelReply['content']

const thought = (text: string): ThinkingBlock => ({ type: 'thinking', text })

function isSent(block: Blocks[number]): boolean {
  if (block.type !== 'text') return block.type !== 'thinking'
  return block.text.trim() !== '' || 'block' in ((block.providerData?.[wireName] ?? {}) as Own)
}

function blocksOf(item: Item): Blocks {
  const { kind, raw, isDone } = item
  const parts = item.parts.filter(({ text }) => text !== '')
  switch (kind) {
    case 'message':
      return parts.map((part) => ({ type: 'text', text: part.text, ...own({ bound: messageData(raw, part) }) }))
    case 'reasoning':
      return thinkingOf(raw, parts)
    case 'function_call':
    case 'custom_call': {
      const { id, name, namespace, caller, async: isAsync } = raw
      const data = { bound: { id }, namespace, caller, async: isAsync }
      return [
        { type: 'tool_call', id: item.callId, name: String(name ?? ''), input: parts[0]?.text ?? '{}', ...own(data) },
      ]
    }
    case 'other':
      if (item.call)
        return [{ type: 'tool_call', id: item.callId, name: item.call.name, input: parts[0]?.text ?? '{}' }]
      // The service runs such an item itself and wants it back as it was; half of one is of no use.
      return isDone ? [{ type: 'text', text: '', ...own({ block: raw }) }] : []
  }
}

const messageData = ({ id, phase }: RawItem, { kind, annotations }: Part): object => ({
  id,
  phase,
  annotations,
  refusal: kind === 'refusal' ? true : undefined,
})

/** Without what is encrypted it can be shown, but not sent back. */
function thinkingOf({ id, encrypted_content }: RawItem, parts: readonly Part[]): Blocks {
  const text = parts.map((part) => part.text).join(paragraph)
  if (typeof encrypted_content !== 'string') return text === '' ? [] : [thought(text)]
  // Services take summaries back, but not what stands beside them.
  const isSummary = parts.every(({ kind }) => kind === 'summary_text')
  const lengths = isSummary ? parts.map((part) => part.text.length) : []
  return [{ ...thought(text), ...own({ bound: { id, encrypted_content, lengths } }) }]
}

/** Data for the way back, without what is not there. */
function own(data: Record<string, unknown>): { providerData?: ProviderData } {
  const kept = given({ ...data, ...('bound' in data && { bound: given(data.bound as object) }) })
  return kept ? withOwn(wireName, kept) : {}
}

function given(data: object): object | undefined {
  const entries = Object.entries(data).filter(([, value]) => value !== undefined && value !== null)
  return entries.length > 0 ? Object.fromEntries(entries) : undefined
}

/** The service counts what was read from or written to its cache as input; some count it apart. */
export function usageOf(usage: RawUsage | null | undefined): TurnUsage {
  const all = countOf(usage?.input_tokens) ?? 0
  const cacheRead = countOf(usage?.input_tokens_details?.cached_tokens)
  const cacheCreation = countOf(usage?.input_tokens_details?.cache_write_tokens)
  const fresh = all - (cacheRead ?? 0) - (cacheCreation ?? 0)
  const cost = countOf(usage?.cost)
  return {
    input: fresh >= 0 ? fresh : all,
    output: countOf(usage?.output_tokens) ?? 0,
    ...(cacheRead !== undefined && { cacheRead }),
    ...(cacheCreation !== undefined && { cacheCreation }),
    ...(cost !== undefined && { cost }),
  }
}

export interface RawUsage {
  readonly input_tokens?: unknown
  readonly input_tokens_details?: { readonly cached_tokens?: unknown; readonly cache_write_tokens?: unknown } | null
  readonly output_tokens?: unknown
  readonly cost?: unknown
}

/** What the client is asked to run: a tool by this name, with this input. */
export interface ClientCall {
  readonly name: string
  readonly input: object
}

/**
 * Items by which OpenAI's own tools are called that run at the client: a patch, a shell, a screen, a search for tools.
 * They become calls like any other, with the names and inputs that the AI SDK gives them, and go back as such: a result
 * could not tell which kind of output it has to be.
 */
export function clientCalls(items: readonly RawItem[]): ReadonlyMap<RawItem, ClientCall> {
  const answered = new Set(items.flatMap(({ type, call_id }) => (String(type).endsWith('_output') ? [call_id] : [])))
  const calls = new Map<RawItem, ClientCall>()
  for (const item of items) {
    // Without an id there is no way to answer; with an answer nobody waits for another.
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

/** With a container of the service the service runs it. */
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
