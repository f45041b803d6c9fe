import { expect } from 'vitest'
import { z } from 'zod'
import { AgentProviderError } from '../../src/core/errors.ts'
import type { HookContexts } from '../../src/core/hook-map.ts'
import type { LogEntry } from '../../src/core/log.ts'
import { type AgentOptions, createAgent, defineTool, type SessionContentBlock } from '../../src/index.ts'
import type { ServiceOptions } from '../../src/providers/service.ts'
import type { Answer } from './fault-server.ts'
import { type FakeReply, type Family, families } from './fault-streams.ts'

/** Must be nowhere but in a request. */
export const key = 'sk-canary-0123456789abcdef'
/** The wire for what is the same with all of them. */
export const [claude] = families as [Family]

export type Meeting = ReturnType<typeof meetAt>

export interface Setting extends Partial<AgentOptions> {
  readonly service?: ServiceOptions
}

/** An agent whose service is a server of the test, and all that a screen beside it hears. */
export function meetAt(url: string, family: Family = claude, { service, ...options }: Setting = {}) {
  const provider =
    options.provider ??
    family.make({
      apiKey: key,
      baseURL: url,
      prices: false,
      retry: { initialDelayMs: 0 },
      ...(options.clock && { clock: options.clock }),
      ...service,
    })
  const agent = createAgent({ ...options, provider })
  const retries: HookContexts['stream:retry'][] = []
  const heard = { retries, shown: '', deltas: 0 }
  agent.hooks.hook('stream:retry', (ctx) => {
    retries.push(ctx)
    heard.shown = ''
  })
  agent.hooks.hook('stream:text', ({ delta }) => {
    heard.shown += delta
    heard.deltas++
  })
  const run = () => agent.run({ prompt: 'hi' })
  const failure = async (): Promise<AgentProviderError> => {
    const error = await run().then(
      () => undefined,
      (reason: unknown) => reason,
    )
    expect(error).toBeInstanceOf(AgentProviderError)
    return error as AgentProviderError
  }
  const entries: LogEntry[] = []
  agent.log.subscribe((entry) => entries.push(entry))
  const ofType = <T extends LogEntry['type']>(type: T) =>
    entries.filter((entry): entry is Extract<LogEntry, { type: T }> => entry.type === type)
  return { agent, provider, heard, run, failure, entries, ofType }
}

/** The content of the replies in an agent's log, one list each. */
export const repliesOf = ({
  agent,
}: {
  agent: { turns: readonly { role: string; content: readonly SessionContentBlock[] }[] }
}) => agent.turns.filter(({ role }) => role === 'assistant').map(({ content }) => content)

export const stream = (family: Family, reply: FakeReply): Answer => ({ body: family.frames(reply).join('') })
export const hello: FakeReply = { text: ['Hel', 'lo 🌍'] }
export const error = (
  family: Family,
  status: number,
  message = 'no',
  headers: Record<string, string> = {},
): Answer => ({
  status,
  headers,
  body: family.error(message),
})

/** A tool that notes what it was run with. */
export function notebook() {
  const ran: unknown[] = []
  const note = defineTool({
    name: 'note',
    description: 'Notes a number',
    input: z.object({ n: z.number() }),
    execute: ({ n }) => {
      ran.push(n)
      return `noted ${n}`
    },
  })
  return { ran, tools: { note } }
}

export const noteCall = (n: number | string, id = 'c1') => ({ id, name: 'note', args: ['{"n"', `:${n}}`] })
export const resultsIn = (meeting: Pick<Meeting, 'ofType'>) => meeting.ofType('call_result')
