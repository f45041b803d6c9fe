import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Agent } from '../../src/core/agent.ts'
import type { ModelEvent } from '../../src/core/provider.ts'
import type { AgentHookMap } from '../../src/core/run.ts'
import type { SessionContentBlock } from '../../src/core/turn.ts'
import { type Step, tool } from '../../src/testing/index.ts'
import { checkGrammar } from './check-grammar.ts'
import { record } from './zot-kit.ts'

/** Hooks at which the run may be aborted; the number is the occurrence. */
const moments = [
  ...([
    'turn:before',
    'stream:start',
    'stream:text',
    'stream:tool:start',
    'stream:tool:args',
    'stream:tool:end',
  ] as const),
  ...(['turn:after', 'tool:gate', 'tool:before', 'tool:progress', 'tool:after', 'tool-results:after'] as const),
  ...(['turn:next', 'session:start', 'agent:done'] as const),
] satisfies (keyof AgentHookMap)[]

const name = fc.constantFrom('fast', 'slow', 'fails', 'asks', 'nests', 'unknown', 'blocked', 'halted')
const input = fc.constantFrom<unknown>({}, { text: 'é😀' }, '{"a": 1,}', '[1', '', '{"deep":{"b":[1,2]}}')
const block = fc.oneof(
  fc.record({ type: fc.constant('text'), text: fc.string({ unit: 'binary', minLength: 1, maxLength: 12 }) }),
  fc.record({ type: fc.constant('thinking'), text: fc.string({ maxLength: 5 }) }),
  fc.record({ type: fc.constant('tool_call'), id: fc.constantFrom('', 'c', 'c1', 'c2', 'c3'), name, input }),
)

interface RandomReply {
  readonly blocks: readonly unknown[]
  readonly cut: number
  readonly ending: 'reply' | 'break' | 'retry' | 'void' | 'empty'
  readonly isStreamed: boolean
  readonly isStarted: boolean
}

const reply: fc.Arbitrary<RandomReply> = fc.record({
  blocks: fc.array(block, { maxLength: 5 }),
  cut: fc.nat(12),
  ending: fc.constantFrom('reply', 'reply', 'reply', 'reply', 'break', 'retry', 'void', 'empty'),
  isStreamed: fc.boolean(),
  isStarted: fc.boolean(),
})

const plan = fc.record({
  replies: fc.array(reply, { minLength: 1, maxLength: 5 }),
  abort: fc.option(fc.record({ moment: fc.constantFrom(...moments), nth: fc.nat(3) }), { nil: undefined, freq: 2 }),
  maxTurns: fc.constantFrom(1, 2, 50),
  isOneShot: fc.boolean(),
})

test('random runs follow the grammar, however they end', async () => {
  const ends = new Set<string>()
  await fc.assert(
    fc.asyncProperty(plan, async ({ replies, abort, maxTurns, isOneShot }) => {
      const { frames, outcome } = await record({
        steps: replies.map(stepOf),
        tools,
        options: { behavior: { maxTurns } },
        hooks: (agent) => ({ ...gate, ...(abort && stopping(agent, abort.moment, abort.nth)) }),
        projection: { isOneShot },
      })
      ends.add(outcome.stopReason)
      const asked = { command: 'prompt', data: { started: true }, success: true, type: 'response' }
      expect(checkGrammar(isOneShot ? frames : [asked, ...frames], { isOneShot, hasSlips: true })).toEqual([])
    }),
    { numRuns: 1500 },
  )
  expect([...ends]).toEqual(expect.arrayContaining(['end', 'error', 'aborted', 'max_turns', 'permission-required']))
}, 60_000)

function stopping(agent: Agent, moment: (typeof moments)[number], nth: number): AgentHookMap {
  let seen = 0
  const stop = (): void => {
    if (seen++ === nth) agent.abort()
  }
  return { [moment]: moment === 'tool:gate' ? [gate['tool:gate'], stop] : stop }
}

const gate = {
  'tool:gate': (ctx) => {
    if (ctx.name === 'blocked') Object.assign(ctx, { block: true, reason: 'no' })
    if (ctx.name === 'halted') ctx.halt = { reason: 'permission-required' }
  },
} satisfies AgentHookMap

const tools = [
  tool('fast', (_, { progress }) => `fast ${progress('p')}`, { isConcurrencySafe: true, replay: 'pure' }),
  tool('slow', () => new Promise((done) => setTimeout(() => done('slow'))), { isConcurrencySafe: true }),
  tool('fails', () => Promise.reject(new Error('no luck')), { cancelsSiblings: true, isConcurrencySafe: true }),
  tool('asks', (_, { suspend }) => suspend('a question')),
  tool('nests', async (_, ctx) => `nested ${await ctx.call('fast', {})}`),
  tool('blocked', () => 'never'),
  tool('halted', () => 'never'),
]

function stepOf({ blocks, cut, ending, isStreamed, isStarted }: RandomReply): Step {
  const content = blocks as (SessionContentBlock & { input?: unknown })[]
  const events: ModelEvent[] = isStarted ? [{ type: 'start' }] : []
  if (isStreamed) events.push(...content.flatMap(deltasOf))
  const whole: ModelEvent = {
    type: 'reply',
    content: ending === 'empty' ? [] : (content as never),
    usage: { input: 1, output: 1 },
    stop: content.some(({ type }) => type === 'tool_call') ? 'tool_use' : 'end',
  }
  if (ending === 'break') return () => [...events.slice(0, cut), broken]
  if (ending === 'retry') return [...events, { type: 'retry', attempt: 2, reason: 'again' }, ...events, whole]
  if (ending === 'void') return [...events.slice(0, cut), { type: 'retry', attempt: 2, reason: 'again' }, whole]
  return [...events, whole]
}

/** No event at all: the core treats it as a failure of the service. */
const broken = { type: 'broken' } as unknown as ModelEvent

function deltasOf(one: SessionContentBlock & { input?: unknown }): ModelEvent[] {
  if (one.type === 'text' || one.type === 'thinking')
    return [...one.text].map((delta) => ({ type: one.type, delta }) as ModelEvent)
  if (one.type !== 'tool_call') return []
  const { id, name: toolName, input: given } = one
  const text = typeof given === 'string' ? given : JSON.stringify(given)
  return [
    { type: 'tool_start', id, name: toolName },
    ...text.split('').map((delta) => ({ type: 'tool_args', id, delta }) as ModelEvent),
    { type: 'tool_end', id },
  ]
}
