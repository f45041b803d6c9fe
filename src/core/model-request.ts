import { show } from './behavior.ts'
import { printable } from './errors.ts'
import type { HookContexts } from './hook-map.ts'
import { keepPaired } from './pairing.ts'
import type { ModelRequest } from './provider.ts'
import type { Run } from './run.ts'
import type { Message } from './turn.ts'

/** What to ask the model next. The framework prepares it, then the consumer's hooks see it; where there are none, at once. */
export function buildRequest(run: Run, turnId: string): ModelRequest | Promise<ModelRequest> {
  const prepared = prepare(run, turnId, run.settings.thinking.thinkingBudget)
  const isHeard = prepared instanceof Promise || run.hooks.has('system:transform')
  return isHeard ? askAll(run, turnId, prepared) : requestOf(run, prepared, run.system.text)
}

async function askAll(run: Run, turnId: string, preparing: Prepared | Promise<Prepared>): Promise<ModelRequest> {
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

/** The session's own list goes out as it is, unless somebody asks to change it: a turn costs what it adds. */
function prepare(run: Run, turnId: string, thinkingBudget: number | undefined): Prepared | Promise<Prepared> {
  const { hooks, log, provider } = run
  const { model } = run.settings
  const { turn } = run.progress
  const stored = log.transcript.messagesFor(provider.meta.name)
  const messages = provider.view?.(stored) ?? stored
  const budget = thinkingBudget !== undefined && { thinkingBudget }
  const prepared: HookContexts['request:prepare'] = { turnId, turn, model, messages, tools: run.tools.specs, ...budget }
  const isHeard = hooks.has('request:prepare') || hooks.has('context:transform')
  return isHeard ? askHooks(run, prepared) : prepared
}

async function askHooks(run: Run, prepared: HookContexts['request:prepare']): Promise<Prepared> {
  const { hooks } = run
  const shown = prepared.messages
  if (hooks.has('request:prepare')) {
    prepared.messages = [...shown]
    await hooks.ask('request:prepare', prepared)
    if (prepared.refuse) throw prepared.refuse
  }
  let { messages } = prepared
  if (!isConversation(messages)) {
    await complain(run, 'request:prepare', messages)
    messages = shown
  }
  const context = { turnId: prepared.turnId, messages: [...messages] }
  if (hooks.has('context:transform')) await hooks.ask('context:transform', context)
  if (isConversation(context.messages)) messages = context.messages
  else await complain(run, 'context:transform', context.messages)
  // Whatever changed the list, calls and results stay together; an untouched list stays the very same one.
  const tools = Array.isArray(prepared.tools) ? prepared.tools : run.tools.specs
  return { ...prepared, tools, model: prepared.model || run.settings.model, messages: keepPaired(messages, shown) }
}

const isConversation = (messages: unknown): messages is Message[] =>
  Array.isArray(messages) && messages.every((message: Message | null) => Array.isArray(message?.content))

/** What a handler left there is no list of messages: the request goes out without its changes. */
async function complain({ hooks }: Run, hook: keyof HookContexts, found: unknown): Promise<void> {
  const error = new TypeError(`${hook} must leave a list of { role, content: blocks }, got ${show(found)}`)
  if (hooks.has('hook:error')) await hooks.tell('hook:error', { hook, error })
  else console.error('libero:', error.message)
}

async function askSystem(run: Run, turnId: string): Promise<string> {
  const { hooks, session } = run
  const { turn } = run.progress
  const prompt = { turnId, turn, system: run.system.text, ...(session && { session }) }
  await hooks.ask('system:transform', prompt)
  return printable(prompt.system)
}
