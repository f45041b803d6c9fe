import { show } from './behavior.ts'
import { isPlainJson, wellFormed } from './plain-json.ts'
import type { ModelReply, ReplyToolCall, StopReason } from './provider.ts'
import type { JsonSchema } from './tool.ts'
import { parseArguments } from './tool-arguments.ts'
import type { SessionContentBlock, ToolCallBlock, TurnUsage } from './turn.ts'
import { normalizeUsage } from './usage.ts'

export interface Reply {
  readonly content: readonly SessionContentBlock[]
  readonly usage: TurnUsage
  readonly stop: StopReason
  readonly responseId?: string
}

export interface ReplyContext {
  readonly model: string
  readonly ids: CallIds
  /** The input schema of a tool. */
  readonly schemaOf: (tool: string) => JsonSchema | undefined
}

/** Checks and normalises a reply, so that it can be logged. */
export function normalizeReply(reply: ModelReply, { model, ids, schemaOf }: ReplyContext): Reply {
  if (!Array.isArray(reply.content)) throw new TypeError(`its reply has no content list, got ${show(reply.content)}`)
  const stop = stops.has(reply.stop) ? reply.stop : 'other'
  const last = reply.content.length - 1
  const calls = reply.content.reduce((count, block) => count + (block?.type === 'tool_call' ? 1 : 0), 0)
  const content: SessionContentBlock[] = []
  let call = 0
  for (let i = 0; i <= last; i++) {
    const block = reply.content[i]!
    if (block?.type === 'tool_call') {
      checkProviderData(block, i)
      const id = ids.final(block.id, call++, calls)
      content.push(normalizeCall(block, { id, wasCut: stop === 'length' && i === last, schemaOf }))
      continue
    }
    const normalized = normalizeBlock(block, i)
    if (normalized) content.push(normalized)
  }
  const { responseId } = reply
  const usage = normalizeUsage(reply.usage, model)
  return { content, usage, stop, ...(typeof responseId === 'string' && responseId !== '' && { responseId }) }
}

interface CallContext extends Pick<ReplyContext, 'schemaOf'> {
  readonly id: string
  readonly wasCut: boolean
}

function normalizeCall(block: ReplyToolCall, { id, wasCut, schemaOf }: CallContext): ToolCallBlock {
  const { providerData } = block
  const name = typeof block.name === 'string' ? block.name : ''
  const input = parseArguments(block.input, wasCut, schemaOf(name))
  return { type: 'tool_call', id, name, ...input, ...(providerData && { providerData }) }
}

const stops = new Set<unknown>(['end', 'tool_use', 'length', 'refusal'])

/** Empty text is dropped: some services refuse to get it back. */
function normalizeBlock(block: ModelReply['content'][number], i: number): SessionContentBlock | undefined {
  if (typeof block !== 'object' || block === null) throw new TypeError(`block ${i} of its reply is ${show(block)}`)
  checkProviderData(block, i)
  switch (block.type) {
    case 'text':
    case 'thinking':
      if (typeof block.text !== 'string') throw new TypeError(`block ${i} of its reply has no text`)
      if ('signature' in block && typeof block.signature !== 'string')
        throw new TypeError(`block ${i} of its reply has a signature that is not a text, but ${show(block.signature)}`)
      if (block.text === '' && !('signature' in block) && !block.providerData) return undefined
      return block.text.isWellFormed() ? block : { ...block, text: wellFormed(block.text) }
    case 'image':
    case 'document':
      if (typeof block.mediaType !== 'string' || typeof block.data !== 'string')
        throw new TypeError(`block ${i} of its reply is a ${block.type} without mediaType and base64 data`)
      return block
    default:
      throw new TypeError(`block ${i} of its reply has the unknown type ${show(block.type)}`)
  }
}

/** `providerData` is stored and sent back, so it must be plain data. */
function checkProviderData(block: object, i: number): void {
  if (!('providerData' in block) || block.providerData === undefined || isPlainJson(block.providerData)) return
  throw new TypeError(
    `block ${i} of its reply has providerData that is not a plain JSON object, but ${show(block.providerData)}`,
  )
}

/**
 * Makes the ids of calls unique in the whole session, because a result must belong to one call: some services reuse ids,
 * repeat them or leave them out. Streamed and final ids agree.
 */
export class CallIds {
  readonly #isTaken: (id: string) => boolean
  readonly #newId: () => string
  #streamed: string[] = none
  #used: Set<string> | undefined
  #latest: Map<string, string> | undefined
  #hasRepeats = false

  constructor(isTaken: (id: string) => boolean, newId: () => string) {
    this.#isTaken = isTaken
    this.#newId = newId
  }

  begin(given: string): string {
    const id = this.#unique(given)
    this.#latest ??= new Map()
    if (given === '' || this.#latest.has(given)) this.#hasRepeats = true
    this.#latest.set(given, id)
    if (this.#streamed === none) this.#streamed = []
    this.#streamed.push(id)
    return id
  }

  /** The id of a call whose stream has begun. */
  of(given: string): string {
    return this.#latest?.get(given) ?? given
  }

  /** The id that was streamed for a call: found by its position if the service repeats ids, else by the given id. */
  final(given: unknown, index: number, total: number): string {
    if (this.#hasRepeats) return total === this.#streamed.length ? this.#streamed[index]! : this.#unique(given)
    return this.#latest?.get(given as string) ?? this.#unique(given)
  }

  /** Forgets the streamed ids: the attempt is void. */
  clear(): void {
    this.#streamed = none
    this.#used = undefined
    this.#latest = undefined
    this.#hasRepeats = false
  }

  #unique(given: unknown): string {
    const isGood = typeof given === 'string' && given !== '' && !this.#used?.has(given) && !this.#isTaken(given)
    const id = isGood ? given : this.#newId()
    this.#used ??= new Set()
    this.#used.add(id)
    return id
  }
}

const none: string[] = []
