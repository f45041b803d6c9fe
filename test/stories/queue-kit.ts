import { type Agent, createAgent, createMemoryStore, createSession } from '../../src/index.ts'
import { call, type Step, scripted, texts, tool } from '../../src/testing/index.ts'
import type { SessionStore } from '../../src/types.ts'

/** An agent that plays a script, without a session, with one, or with one in a given store. */
export async function setUp(where: 'in memory' | 'in a session' | SessionStore, ...script: Step[]) {
  const store = typeof where === 'string' ? createMemoryStore() : where
  const session = where === 'in memory' ? undefined : await createSession({ store, id: 's' })
  const provider = scripted(...script)
  const tools = {
    noop: tool('noop', () => 'ok'),
    wait: tool('wait', (_, { suspend }) => suspend('for an answer')),
  }
  return { agent: createAgent({ provider, tools, ...(session && { session }) }), provider, store }
}

/** What the user said, so far as it was delivered. */
export function said(agent: Agent): string[] {
  const users = texts(agent.turns).filter((text) => text.startsWith('user: ') && !text.includes('←'))
  return users.map((text) => text.slice('user: '.length))
}

export function once(act: () => unknown): () => Promise<void> | void {
  let isDone = false
  return () => {
    if (isDone) return
    isDone = true
    return act() as Promise<void> | void
  }
}

export const calls = (...ids: string[]) => ids.map((id) => call(id, 'noop'))
export const tick = () => new Promise<void>((resolve) => setTimeout(resolve))
