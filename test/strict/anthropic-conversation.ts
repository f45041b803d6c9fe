import { createHash } from 'node:crypto'
import { checkBlock } from './anthropic-blocks.ts'
import { lineOf } from './anthropic-models.ts'
import { refuse } from './anthropic-refusal.ts'
import { type Json, unknownField } from './refusal.ts'

export interface MessagesBody {
  readonly model: string
  readonly max_tokens: number
  readonly messages: readonly { readonly role: string; readonly content: unknown }[]
  readonly thinking?: { readonly type: string; readonly budget_tokens?: number }
  readonly output_config?: { readonly effort?: string }
  readonly tool_choice?: { readonly type: string; readonly name?: string }
  readonly temperature?: number
  readonly top_p?: number
  readonly top_k?: number
}

export type Block = Json & { readonly type: string }

/** The content of a message as blocks. */
export const contentOf = (content: unknown): readonly Block[] =>
  typeof content === 'string' ? [{ type: 'text', text: content }] : (content as Block[])

/** Checks roles, order and pairs, then every block. `boundTo` is what the thinking of message `i` is bound to. */
export function checkConversation(body: MessagesBody, boundTo: (i: number) => string): void {
  const { messages, model } = body
  if (!Array.isArray(messages) || messages.length === 0) throw refuse('messages: at least one message is required')
  for (const [i, message] of messages.entries()) {
    const extra = unknownField(message, ['role', 'content'])
    if (extra !== undefined) throw refuse(`messages.${i}.${extra}: Extra inputs are not permitted`)
    if (message.role !== 'user' && message.role !== 'assistant')
      throw refuse(`messages.${i}.role: Input should be 'user' or 'assistant'`)
    const content = contentOf(message.content)
    if (!Array.isArray(content) || content.length === 0)
      throw refuse(
        `messages.${i}: all messages must have non-empty content except for the optional final assistant message`,
      )
    for (const [j, block] of content.entries())
      checkBlock(block, { at: `messages.${i}.content.${j}`, role: message.role, model, boundTo: boundTo(i) })
  }
  if (messages[0]!.role !== 'user') throw refuse('messages: first message must use the "user" role')
  if (messages.at(-1)!.role === 'assistant' && !lineOf(model).prefills)
    throw refuse(
      'This model does not support assistant message prefill. The conversation must end with a user message.',
    )
  checkPairs(body)
  checkThinking(body)
  const media = messages.flatMap(({ content }) => contentOf(content).flatMap(mediaIn))
  if (media.length > 100) throw refuse(`messages: too many images and documents: ${media.length} > 100`)
}

function mediaIn(block: Block): readonly Block[] {
  if (block.type === 'tool_result' && Array.isArray(block.content)) return (block.content as Block[]).flatMap(mediaIn)
  return block.type === 'image' || block.type === 'document' ? [block] : []
}

function checkPairs({ messages }: MessagesBody): void {
  const used = new Set<unknown>()
  for (const [i, { role, content }] of messages.entries()) {
    const blocks = contentOf(content)
    if (role === 'assistant') {
      const calls = blocks.filter(isCall)
      for (const [j, block] of blocks.entries()) {
        if (!isCall(block)) continue
        if (used.has(block.id)) throw refuse(`messages.${i}.content.${j}: \`tool_use\` ids must be unique`)
        used.add(block.id)
      }
      const next = messages[i + 1]?.role === 'user' ? contentOf(messages[i + 1]!.content) : []
      const isSplit = calls.length > 0 && !isCall(blocks.at(-1)!)
      const answered = new Set(isSplit ? [] : leadingResults(next).map(({ tool_use_id: id }) => id))
      const open = calls.filter(({ id }) => !answered.has(id))
      if (open.length > 0)
        throw refuse(
          `messages.${i}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ` +
            `${open.map(({ id }) => id).join(', ')}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`,
        )
      continue
    }
    const asked = new Set(i > 0 && messages[i - 1]!.role === 'assistant' ? callsIn(messages[i - 1]!.content) : [])
    for (const [j, block] of blocks.entries()) {
      if (block.type !== 'tool_result') continue
      const id = block.tool_use_id
      if (j >= leadingResults(blocks).length)
        throw refuse(`messages.${i}.content.${j}: \`tool_result\` blocks must come before any other content`)
      if (!asked.delete(id))
        throw refuse(
          `messages.${i}.content.${j}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${String(id)}. ` +
            'Each `tool_result` block must have a corresponding `tool_use` block in the previous message.',
        )
    }
  }
}

const isCall = ({ type }: Block): boolean => type === 'tool_use'

const callsIn = (content: unknown): unknown[] =>
  contentOf(content).flatMap((block) => (isCall(block) ? [block.id] : []))

function leadingResults(blocks: readonly Block[]): readonly Block[] {
  const others = blocks.findIndex(({ type }) => type !== 'tool_result')
  return others < 0 ? blocks : blocks.slice(0, others)
}

/** Thinking must not end a message; in a continued loop of calls, a message must begin with its budgeted thinking. */
function checkThinking({ messages, thinking }: MessagesBody): void {
  for (const [i, { role, content }] of messages.entries())
    if (role === 'assistant' && isThought(contentOf(content).at(-1)))
      throw refuse(`messages.${i}: The final block in an assistant message cannot be \`thinking\`.`)
  if (thinking?.type !== 'enabled') return
  // User messages after the last reply count as one message.
  const last = messages.findLastIndex(({ role }) => role === 'assistant')
  const isGoingOn = messages.slice(last + 1).some(({ content }) => contentOf(content).some(isResult))
  const [first] = isGoingOn && last >= 0 ? contentOf(messages[last]!.content) : []
  if (first && !isThought(first))
    throw refuse(
      `messages.${last}.content.0.type: Expected \`thinking\` or \`redacted_thinking\`, but found \`${first.type}\`. ` +
        'When `thinking` is enabled, a final `assistant` message must start with a thinking block.',
    )
}

const isResult = ({ type }: Block): boolean => type === 'tool_result'

const isThought = (block: Block | undefined): boolean =>
  block?.type === 'thinking' || block?.type === 'redacted_thinking'

/** What thinking is bound to: everything before it, except cache breakpoints. */
export function prefixOf(messages: MessagesBody['messages'], count: number): string {
  const text = JSON.stringify(messages.slice(0, count), (key, value: unknown) =>
    key === 'cache_control' ? undefined : value,
  )
  return createHash('sha256').update(text).digest('hex')
}
