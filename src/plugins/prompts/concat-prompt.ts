import { show } from '../../core/behavior.ts'
import { isRecord } from '../../core/is-record.ts'
import { didYouMean } from '../../core/nearest.ts'
import { deepFreeze, type Message } from '../../core/turn.ts'
import { copyTree, type PluginHooks, type Shared } from '../plugin-hooks.ts'
import { fitHistory, hasResults } from '../tokens/trim-messages.ts'
import type { FlatPrompt, PromptNode, PromptResult, PromptState } from './prompt.ts'
import { flattenPrompts } from './prompt-tree.ts'

export interface ConcatPromptInput
  extends Pick<Shared<'processPrompts'>, 'agentFrameworkContext' | 'metadata' | 'actions'> {
  /** The prompt tree; it is not changed. */
  readonly prompts: readonly PromptNode[]
  readonly hooks: PluginHooks
  /** The conversation. Pass the same message objects each time: providers recognise them. */
  readonly messages: readonly Message[]
  /** In tokens; the conversation gets 70 % of it. Default: all of the conversation. */
  readonly contextWindowSize?: number | undefined
}

/** Builds a prompt, and yields a state after each step. The last state has the result. */
export function concatPrompt(input: ConcatPromptInput): AsyncGenerator<PromptState, void, undefined> {
  checkInput(input)
  return promptStates(input)
}

function checkInput(input: ConcatPromptInput): void {
  if (!isRecord(input)) throw new TypeError(`concatPrompt takes an object with prompts and hooks, got ${show(input)}`)
  for (const name of Object.keys(input))
    if (!Object.hasOwn(rules, name))
      throw new TypeError(`concatPrompt takes no "${name}"${didYouMean(name, Object.keys(rules))}`)
  for (const [name, [isRight, wanted]] of Object.entries(rules)) {
    const value = input[name as keyof ConcatPromptInput]
    if (!isRight(value)) throw new TypeError(`concatPrompt needs ${name}, ${wanted}, got ${show(value)}`)
  }
}

type Rule = readonly [isRight: (value: unknown) => boolean, wanted: string]
const anObject: Rule = [isRecord, 'an object']
const rules: Record<keyof ConcatPromptInput, Rule> = {
  prompts: [Array.isArray, 'a list of pieces such as { id, text }'],
  messages: [Array.isArray, 'a list of messages'],
  hooks: [
    (value) => isRecord(value) && typeof value.waterfall === 'function',
    'what createPluginHooks(plugins, onError) gives',
  ],
  agentFrameworkContext: [isRecord, 'an object with agent, agentDef and isCancelled()'],
  metadata: anObject,
  actions: anObject,
  contextWindowSize: [(value) => value === undefined || typeof value === 'number', 'a number of tokens, or none'],
}

async function* promptStates(input: ConcatPromptInput): AsyncGenerator<PromptState, void, undefined> {
  const { agentFrameworkContext, metadata, actions, hooks } = input
  const messages = fitHistory(input.messages, input.contextWindowSize)
  let value: Shared<'processPrompts'> = {
    agentFrameworkContext,
    metadata,
    actions,
    messages,
    prompts: copyTree(input.prompts),
  }
  for await (const { value: next, plugin, done, of } of hooks.waterfall('processPrompts', value)) {
    value = next
    yield { step: 'plugin', plugin, progress: (done / of) * 0.7, prompts: value.prompts }
  }
  for await (const { value: next } of hooks.waterfall('finalizePrompts', value)) value = next
  const { prompts } = value
  yield { step: 'finalize', progress: 0.8, prompts }
  const flat = withHistory(flattenPrompts(prompts), value.messages)
  yield { step: 'flatten', progress: 0.9, prompts, flat }
  yield {
    step: 'complete',
    progress: 1,
    prompts,
    flat,
    result: promptResult(flat, value.messages, reusedMessages(metadata)),
  }
}

/** Waits for the last state, and returns its result. */
export async function getFinalPromptResult(
  states: AsyncIterable<PromptState>,
): Promise<NonNullable<PromptState['result']>> {
  let result: PromptState['result']
  for await (const state of states) result = state.result ?? result
  if (!result)
    throw new Error('the prompt was not finished: its states ended before "complete"; take them from concatPrompt')
  return result
}

/** A tree without a place for the conversation gets it at its end. */
function withHistory(flat: FlatPrompt[], messages: readonly Message[]): FlatPrompt[] {
  if (!flat.some((piece) => piece.role === 'history')) flat.push({ role: 'history', messages })
  return flat
}

/**
 * The request for the model. Leading system texts are the system prompt; later ones become user messages. The user's last
 * message comes after everything else; once work on it has begun, it stays in its place.
 */
function promptResult(flat: readonly FlatPrompt[], conversation: readonly Message[], say: MakeMessage): PromptResult {
  const lead = flat.findIndex((piece) => piece.role !== 'system')
  const first = lead < 0 ? flat.length : lead
  const system = flat.slice(0, first).map(contentOf).join('\n\n')
  const rest = flat.slice(first)
  const only = rest.length === 1 ? rest[0] : undefined
  // The list itself, not a copy: providers reuse what they computed for it.
  if (only?.role === 'history' && endsAs(conversation, only.messages)) return { system, messages: only.messages }
  return { system, messages: inOrder(rest, conversation, say) }
}

const contentOf = (piece: FlatPrompt): string => (piece.role === 'history' ? '' : piece.content)

/** Whether nothing must be added after these messages. */
function endsAs(conversation: readonly Message[], messages: readonly Message[]): boolean {
  return !questionAtEnd(conversation) || questionOf(messages, conversation) !== undefined
}

function inOrder(pieces: readonly FlatPrompt[], conversation: readonly Message[], say: MakeMessage): Message[] {
  const lastHistory = pieces.findLastIndex((piece) => piece.role === 'history')
  const messages: Message[] = []
  let question = questionAtEnd(conversation)
  for (const [i, piece] of pieces.entries()) {
    if (piece.role !== 'history') {
      messages.push(say(piece.role === 'assistant' ? 'assistant' : 'user', piece.content))
      continue
    }
    const own = question && i === lastHistory ? questionOf(piece.messages, conversation) : undefined
    question = own ?? question
    const end = piece.messages.length - (own ? 1 : 0)
    for (let at = 0; at < end; at++) messages.push(piece.messages[at]!)
  }
  if (question) messages.push(question)
  return messages
}

/** The last message of a conversation that a plugin has changed: the user's, or one in place of it. */
function questionOf(messages: readonly Message[], conversation: readonly Message[]): Message | undefined {
  const question = questionAtEnd(messages)
  if (!question || question === conversation.at(-1)) return question
  return conversation.includes(question) ? undefined : question
}

function questionAtEnd(messages: readonly Message[]): Message | undefined {
  const last = messages.at(-1)
  return last?.role === 'user' && !hasResults(last) ? last : undefined
}

type MakeMessage = (role: Message['role'], text: string) => Message

/**
 * Makes messages of texts, for one round of an execution. A text of the round before gets the same message object again:
 * providers recognise messages by identity, and a new one before the conversation would invalidate their cache.
 */
function reusedMessages(execution: object): MakeMessage {
  const before = lastMessages.get(execution)
  const now = new Map<string, Message>()
  lastMessages.set(execution, now)
  return (role, text) => {
    const key = `${role}:${text}`
    const message = now.get(key) ?? before?.get(key) ?? deepFreeze({ role, content: [{ type: 'text', text }] } as const)
    now.set(key, message)
    return message
  }
}

/** Of the last round only, so that texts that change every round do not accumulate. */
const lastMessages = new WeakMap<object, Map<string, Message>>()
