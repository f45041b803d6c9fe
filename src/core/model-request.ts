import { show } from './behavior.ts'
import { printable } from './errors.ts'
import type { HookContexts } from './hook-map.ts'
import { keepPaired } from './pairing.ts'
import type { ModelRequest } from './provider.ts'
import type { Run } from './run.ts'
import type { Message } from './turn.ts'
import type { MaybePromise } from './waiting.ts'

/** Builds the next request. Extensions prepare it, then the embedder's hooks may change it. Without any handler no promise is made. */
export function buildRequest(run: Run, turnId: string): MaybePromise<ModelRequest> {
  const prepared = prepare(run, turnId, run.settings.thinking.thinkingBudget)
  const hasHandlers = prepared instanceof Promise || run.hooks.has('system:transform')
  return hasHandlers ? askAll(run, turnId, prepared) : requestOf(run, prepared, run.system.text)
}

async function askAll(run: Run, turnId: string, preparing: MaybePromise<Prepared>): Promise<ModelRequest> {
  const prepared = await preparing
  const system = run.hooks.has('system:transform') ? await askSystem(run, turnId) : run.system.text
  return requestOf(run, prepared, system)
}

function requestOf(run: Run, { model, messages, tools, thinkingBudget }: Prepared, system: string): ModelRequest {
  const { maxTokens, thinking } = run.settings.thinking
  const { cache } = run.settings.behavior
  const request = { model, system, messages, tools, maxTokens, thinking, cache }
  if (thinkingBudget === undefined && !run.session) return request
  return {
    ...request,
    ...(thinkingBudget === 0 && { thinking: 'off' as const }),
    ...(thinkingBudget && { thinkingBudget }),
    ...(run.session && { sessionId: run.session.id }),
  }
}

type Prepared = Pick<HookContexts['request:prepare'], 'model' | 'messages' | 'tools' | 'thinkingBudget'>

/** Without handlers the list of turns itself is sent: the cost of a turn must not grow with the conversation. */
function prepare(run: Run, turnId: string, thinkingBudget: number | undefined): MaybePromise<Prepared> {
  const { hooks, log, provider } = run
  const { model } = run.settings
  const { turnNumber: turn } = run.progress
  const stored = log.transcript.messagesFor(provider.meta.name)
  const messages = provider.view?.(stored) ?? stored
  const budget = thinkingBudget !== undefined && { thinkingBudget }
  const prepared: HookContexts['request:prepare'] = { turnId, turn, model, messages, tools: run.tools.specs, ...budget }
  const hasHandlers = hooks.has('request:prepare') || hooks.has('context:transform')
  return hasHandlers ? askHooks(run, prepared) : prepared
}

async function askHooks(run: Run, prepared: HookContexts['request:prepare']): Promise<Prepared> {
  const { hooks } = run
  const original = prepared.messages
  if (hooks.has('request:prepare')) {
    prepared.messages = [...original]
    await hooks.ask('request:prepare', prepared)
    if (prepared.refuse) throw prepared.refuse
  }
  let { messages } = prepared
  if (!isConversation(messages)) {
    await reportInvalid(run, 'request:prepare', messages)
    messages = original
  }
  const context = { turnId: prepared.turnId, messages: [...messages] }
  if (hooks.has('context:transform')) await hooks.ask('context:transform', context)
  if (isConversation(context.messages)) messages = context.messages
  else await reportInvalid(run, 'context:transform', context.messages)
  // Handlers may have separated calls from their results. An unchanged list keeps its identity.
  const tools = Array.isArray(prepared.tools) ? prepared.tools : run.tools.specs
  return { ...prepared, tools, model: prepared.model || run.settings.model, messages: keepPaired(messages, original) }
}

const isConversation = (messages: unknown): messages is Message[] =>
  Array.isArray(messages) && messages.every((message: Message | null) => Array.isArray(message?.content))

/** A handler left something that is not a list of messages: the request is sent without its changes. */
async function reportInvalid({ hooks }: Run, hook: keyof HookContexts, found: unknown): Promise<void> {
  const error = new TypeError(`${hook} must leave a list of { role, content: blocks }, got ${show(found)}`)
  if (hooks.has('hook:error')) await hooks.tell('hook:error', { hook, error })
  else console.error('libero:', error.message)
}

async function askSystem(run: Run, turnId: string): Promise<string> {
  const { hooks, session } = run
  const { turnNumber: turn } = run.progress
  const prompt = { turnId, turn, system: run.system.text, ...(session && { session }) }
  await hooks.ask('system:transform', prompt)
  return printable(prompt.system)
}
