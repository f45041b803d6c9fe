import type { AgentHookMap } from './hook-map.ts'
import { pairUp } from './pairing.ts'
import type { ModelRequest } from './provider.ts'
import type { Run } from './run.ts'
import { resolveThinking } from './thinking.ts'
import type { Message } from './turn.ts'

/** What to ask the model next. The framework prepares it, then the consumer's hooks see it. */
export async function buildRequest(run: Run, turnId: string): Promise<ModelRequest> {
  const { behavior, model, provider, session } = run
  const { maxTokens, thinkingBudget: budget } = behavior
  const { capabilities } = provider.meta
  const thought = resolveThinking({ level: run.options.thinking, budget, maxTokens, capabilities })
  const { messages, tools, thinkingBudget } = await prepare(run, turnId, thought.thinkingBudget)
  return {
    model,
    system: await systemOf(run, turnId),
    messages,
    tools,
    maxTokens: thought.maxTokens,
    thinking: thought.thinking,
    ...(thinkingBudget !== undefined && { thinkingBudget }),
    cache: behavior.cache,
    ...(session && { sessionId: session.id }),
  }
}

type Prepared = Pick<AgentHookMap['request:prepare'], 'messages' | 'tools' | 'thinkingBudget'>

/** The session's own list goes out as it is, unless somebody asks to change it: a turn costs what it adds. */
async function prepare(run: Run, turnId: string, thinkingBudget: number | undefined): Promise<Prepared> {
  const { hooks, log, provider, turn } = run
  const stored = log.transcript.messagesFor(provider.meta.name)
  const shown = provider.view?.(stored) ?? stored
  const budget = thinkingBudget !== undefined && { thinkingBudget }
  const prepared: AgentHookMap['request:prepare'] = { turnId, turn, messages: shown, tools: run.tools.specs, ...budget }
  if (hooks.has('request:prepare')) {
    prepared.messages = [...shown]
    await hooks.ask('request:prepare', prepared)
  }
  let messages: readonly Message[] = prepared.messages
  if (hooks.has('context:transform')) {
    const context = { turnId, messages: [...messages] }
    await hooks.ask('context:transform', context)
    messages = context.messages
  }
  // Whatever changed the list, calls and results stay together; an untouched list stays the very same one.
  const isOwn = messages === shown && stored === log.transcript.turns
  return { ...prepared, messages: isOwn ? messages : pairUp(messages, shown) }
}

async function systemOf(run: Run, turnId: string): Promise<string> {
  const { hooks, session, turn } = run
  if (!hooks.has('system:transform')) return run.system.text
  const prompt = { turnId, turn, system: run.system.text, ...(session && { session }) }
  await hooks.ask('system:transform', prompt)
  return prompt.system
}
