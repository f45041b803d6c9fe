import { show } from './behavior.ts'
import type { HookContexts } from './hook-map.ts'
import { pairUp } from './pairing.ts'
import type { ModelRequest } from './provider.ts'
import type { Run } from './run.ts'
import { resolveThinking } from './thinking.ts'
import type { Message } from './turn.ts'

/** What to ask the model next. The framework prepares it, then the consumer's hooks see it. */
export async function buildRequest(run: Run, turnId: string): Promise<ModelRequest> {
  const { behavior, provider, session } = run
  const { maxTokens, thinkingBudget: budget } = behavior
  const { capabilities } = provider.meta
  const thought = resolveThinking({ level: run.options.thinking, budget, maxTokens, capabilities })
  const preparing = prepare(run, turnId, thought.thinkingBudget)
  const { model, messages, tools, thinkingBudget } = preparing instanceof Promise ? await preparing : preparing
  const system = run.hooks.has('system:transform') ? await askSystem(run, turnId) : run.system.text
  const hasThoughtEnough = thinkingBudget === 0
  return {
    model,
    system,
    messages,
    tools,
    maxTokens: thought.maxTokens,
    thinking: hasThoughtEnough ? 'off' : thought.thinking,
    ...(thinkingBudget !== undefined && !hasThoughtEnough && { thinkingBudget }),
    cache: behavior.cache,
    ...(session && { sessionId: session.id }),
  }
}

type Prepared = Pick<HookContexts['request:prepare'], 'model' | 'messages' | 'tools' | 'thinkingBudget'>

/** The session's own list goes out as it is, unless somebody asks to change it: a turn costs what it adds. */
function prepare(run: Run, turnId: string, thinkingBudget: number | undefined): Prepared | Promise<Prepared> {
  const { hooks, log, model, provider, turn } = run
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
  return { ...prepared, messages: pairUp(messages, shown) }
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
  const { hooks, session, turn } = run
  const prompt = { turnId, turn, system: run.system.text, ...(session && { session }) }
  await hooks.ask('system:transform', prompt)
  return String(prompt.system)
}
