import { expect } from 'vitest'
import {
  type Agent,
  type AgentHookMap,
  type Behavior,
  createAgent,
  createMemoryStore,
  createSession,
  loadSession,
  type SessionTurn,
  type ToolDef,
  toolResultToText,
} from '../../src/index.ts'
import { call, type Step, scripted, tool } from '../../src/testing/index.ts'
import type { Message, ToolCallBlock } from '../../src/types.ts'

export type Kind = 'in memory' | 'in a session'

interface Story {
  calls: ToolCallBlock[]
  /** What the model says after the calls, before it is content with everything. */
  more?: Step[]
  tools?: (abort: () => void) => Record<string, ToolDef>
  hooks?: (agent: Agent) => AgentHookMap
  behavior?: Behavior
  /** How the second run begins. */
  next?: 'prompt' | 'resume' | 'none'
}

/** Plays a run that makes the calls, then a second one; checks the pairs after each, in the turns and in what was sent. */
export async function story(kind: Kind, { calls, more = [], next = 'prompt', ...given }: Story) {
  const store = createMemoryStore()
  const session = kind === 'in memory' ? undefined : await createSession({ store, id: 's' })
  const provider = scripted(calls, ...more, 'fine', 'fine')
  const ran: string[] = []
  let status = ''
  const abort = (): void => agent.abort()
  const { far, ...near } = tools(ran, abort)
  const agent: Agent = createAgent({
    provider,
    ...(session && { session }),
    ...(given.behavior && { behavior: given.behavior }),
    tools: { ...near, ...given.tools?.(abort) },
    mcpServers: [{ name: 'x', transport: 'stdio', command: 'x' }],
    mcpConnector: async () => ({ tools: { far: far! }, close: async () => {} }),
  })
  agent.hooks.hook('session:end', (end) => void (status ||= end.status))
  for (const [name, handler] of Object.entries(given.hooks?.(agent) ?? {}))
    agent.hooks.hook(name as 'tool:gate', handler as () => void)
  await agent.run({ prompt: 'go' }).catch(() => {})
  expect(unpaired(agent.turns)).toEqual([])
  if (next !== 'none') expect((await agent.run(next === 'prompt' ? { prompt: 'go on' } : {})).text).toBe('fine')
  expect(unpaired(agent.turns)).toEqual([])
  for (const { messages } of provider.requests) expect(unpaired(messages)).toEqual([])
  if (session) expect((await loadSession(store, 's')).turns).toEqual(agent.turns)
  return { agent, results: resultsOf(agent.turns), ran, status }
}

const safely = { isConcurrencySafe: true }

/** Tools of every temper, which note that they ran. */
export function tools(ran: string[] = [], abort = () => {}): Record<string, ToolDef> {
  const make = (name: string, execute: ToolDef['execute'] = ({ n }) => `did ${n}`, more: Partial<ToolDef> = {}) =>
    tool(
      name,
      (input, ctx) => {
        ran.push(`${name} ${input.n}`)
        return execute(input, ctx)
      },
      more,
    )
  const picky = make('picky')
  const properties = { n: { type: 'number' } }
  return {
    ok: make('ok'),
    safe: make('safe', undefined, safely),
    far: make('mcp_x_far'),
    picky: { ...picky, spec: { ...picky.spec, inputSchema: { type: 'object', properties, required: ['n'] } } },
    chatty: make('chatty', ({ n }, { progress }) => {
      progress('half way')
      return `did ${n}`
    }),
    hang: make('hang', hang, safely),
    abort: make('abort', () => hangAfter(abort)),
    abortSafe: make('abortSafe', () => hangAfter(abort), safely),
    suspend: make('suspend', (_, { suspend }) => suspend('not now')),
    suspendSafe: make('suspendSafe', (_, { suspend }) => suspend('not now'), safely),
    fatal: make('fatal', () => fail(new Error('fatal')), { ...safely, cancelsSiblings: true }),
  }
}

/** What breaks the rule: calls without their one result, results without their call. */
export function unpaired(messages: readonly Message[]): string[] {
  const problems: string[] = []
  let asked: string[] = []
  for (const { role, content } of [...messages, { role: 'user', content: [] } as Message]) {
    const answered = content.flatMap((block) => (block.type === 'tool_result' ? [block.callId] : []))
    if (answered.toSorted().join() !== asked.toSorted().join())
      problems.push(`asked ${asked.join()}, answered ${answered.join()}`)
    asked = role === 'user' ? [] : content.flatMap((block) => (block.type === 'tool_call' ? [block.id] : []))
  }
  return problems
}

/** The texts of the first results there are. */
export function resultsOf(turns: readonly SessionTurn[]): string[] {
  const turn = turns.find(({ content }) => content.some((block) => block.type === 'tool_result'))
  return (turn?.content ?? []).flatMap((block) => (block.type === 'tool_result' ? toolResultToText(block.output) : []))
}

export function first<Ctx>(handler: (ctx: Ctx) => unknown): (ctx: Ctx) => Promise<void> | void {
  let isDone = false
  return (ctx) => {
    if (isDone) return
    isDone = true
    return handler(ctx) as Promise<void> | void
  }
}

export function fail(error: unknown): never {
  throw error
}

export function three(name: string): ToolCallBlock[] {
  return [1, 2, 3].map((n) => call(`${name}-${n}`, name, { n }))
}

export function kindOf(result: string): string {
  return result.split(':')[0]!
}

export function hang(): Promise<never> {
  return new Promise(() => {})
}

export function hangAfter(act: () => void): Promise<never> {
  setTimeout(act)
  return hang()
}

export function tick(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve))
}
