import { appendFileSync } from 'node:fs'
import type { Agent } from '../../src/core/agent.ts'
import type { Session } from '../../src/core/store.ts'
import { createAgent } from '../../src/create-agent.ts'
import { call, scripted, tool } from '../../src/testing/index.ts'

interface TaskOptions {
  /** Never gets over this step. */
  readonly stopsAt?: string
  readonly thinkMs?: number
}

/** An agent that records something once and says so. The tool is opaque: it must never run twice. */
export function taskAgent(session: Session, effects: string, { stopsAt, thinkMs = 0 }: TaskOptions = {}): Agent {
  const at = async (step: string): Promise<void> => {
    await new Promise((resolve) => setTimeout(resolve, thinkMs))
    if (step === stopsAt) await new Promise(() => {})
  }
  const record = tool(
    'record',
    async () => {
      appendFileSync(effects, `${session.id}\n`)
      await at('in-tool')
      return 'recorded'
    },
    { replay: 'opaque' },
  )
  const provider = scripted(
    async ({ messages }) => {
      await at(messages.length > 1 ? 'after-tool' : 'before-tool')
      return messages.length > 1 ? 'Done.' : [call('c1', 'record')]
    },
    async () => {
      await at('after-tool')
      return 'Done.'
    },
  )
  return createAgent({ session, provider, tools: { record } })
}
