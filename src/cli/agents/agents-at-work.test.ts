import { expect, test } from 'vitest'
import type { EntryBody, LogEntry } from '../../core/log.ts'
import type { SessionContentBlock } from '../../core/turn.ts'
import { type ChildEvent, durable } from '../../events/events.ts'
import { createMemoryStore } from '../../sessions/memory-store.ts'
import { childLines } from '../../tui/rows/children-view.ts'
import { createPaint } from '../../tui/terminal/paint.ts'
import { emptyView, foldEvent, type SessionView } from '../../view/session-view.ts'
import { mayChangeFiles } from './open-workflow.ts'
import { usageSince } from './usage-since.ts'
import { followChildren } from './watch.ts'

const turn = (content: readonly SessionContentBlock[] = [], cost = 0.25): EntryBody => ({
  type: 'turn',
  turn: {
    ...{ id: 't', runId: 'r', role: 'assistant', content, createdAt: 0 },
    usage: { input: 10, output: 1, cacheRead: 5, cost },
  },
})
const calling = (id: string): SessionContentBlock => ({ type: 'tool_call', id, name: 'spawn-agent', input: {} })

function openLogs() {
  const store = createMemoryStore()
  return {
    store,
    /** Writes into a log, one entry per moment from `at` on. */
    async write(id: string, at: number, ...bodies: readonly EntryBody[]): Promise<void> {
      const { epoch } = await store.lease(id, { owner: 'test', ttlMs: 60_000, create: true })
      const head = (await store.read(id)).length
      const entries = bodies.map((body, i) => ({ seq: head + i + 1, id: `${id}${head + i}`, at: at + i, ...body }))
      await store.append(id, entries as LogEntry[], { epoch, head })
      await store.lease(id, { owner: 'test', ttlMs: 0, epoch })
    },
  }
}

test('usage is counted from the start of the work, including sub-agents but no other agent', async () => {
  const { store, write } = openLogs()
  await write('agent-a', 1, turn())
  await write('agent-a', 100, turn(), { type: 'usage', runId: 'r', cause: 'title', usage: { input: 3, output: 2 } })
  await write('agent-a/call', 101, turn([], 0.5))
  await write('agent-ab', 102, turn([], 8))
  const stats = await usageSince(store, 'agent-a', { since: 50, elapsed: 7 })
  expect(stats).toMatchObject({ totalIn: 23, totalOut: 4, cost: 0.75, elapsed: 7 })
  expect(stats.turnUsage).toHaveLength(2)
})

test('sub-agents and their own are followed from the call that starts them until its result', async () => {
  const { store, write } = openLogs()
  const all = new AbortController()
  const seen: string[] = []
  const follow = followChildren({
    ...{ store, agentId: 'agent-a', signal: all.signal },
    onEntry: ({ id, depth }, { type }) => void seen.push(`${depth} ${id} ${type}`),
  })
  const call = { callId: 'one', toolId: 'spawn-agent', parameters: {} }
  const message = { id: 'm', agentId: 'agent-a', role: 'assistant', content: '' } as const
  follow({ ...message, metadata: { calls: [{ ...call, callId: 'zero', outcome: 'done' }, call] } })
  await write('agent-a/one', 1, turn([calling('two')]))
  await write('agent-a/one/two', 2, turn())
  await expect.poll(() => seen).toContain('2 agent-a/one/two turn')
  await write('agent-a/one', 3, { type: 'call_result', callId: 'two', output: 'x', outcome: 'done' })
  await expect.poll(() => seen).toContain('1 agent-a/one call_result')
  await write('agent-a/one/two', 4, turn()) // it is not followed any more
  await write('agent-a/one', 5, turn())
  await expect.poll(() => seen).toHaveLength(4)
  follow({ ...message, metadata: { calls: [{ ...call, outcome: 'done' }] } })
  expect(seen.toSorted()).toEqual([
    ...['1 agent-a/one call_result', '1 agent-a/one turn', '1 agent-a/one turn', '2 agent-a/one/two turn'],
  ])
  all.abort()
})

test('a sub-agent has a live line on the screen as long as it works', () => {
  const child = { id: 'agent-a/one', depth: 1 }
  const event = (seq: number, body: EntryBody): ChildEvent => {
    const entry = { seq, id: '', at: 0, ...body } as LogEntry
    return { durable: false, type: 'child', child, event: durable(entry) }
  }
  const lines = ({ children }: SessionView): string[] =>
    childLines(children, { paint: createPaint({ colours: false }), cwd: '/', spinner: '*' })
  const working = foldEvent(emptyView, event(1, turn([calling('two')])))
  expect(lines(working)).toEqual([expect.stringContaining('* agent 1 spawn-agent')])
  const ended = event(2, { type: 'run_ended', runId: 'r', status: 'completed', stop: 'end' })
  expect(lines(foldEvent(working, ended))).toEqual([])
})

test('snapshots are needed if a definition runs scripts or has MCP servers', () => {
  const withPlugin = (toolId: string, enabled = true) => ({
    id: 'a',
    config: { plugins: [{ id: 'x', toolId, enabled }] },
  })
  expect(mayChangeFiles(withPlugin('zx-script'))).toBe(true)
  expect(mayChangeFiles({ id: 'a', mcpServers: [{ name: 'files', transport: 'stdio', command: 'x' }] })).toBe(true)
  expect([withPlugin('zx-script', false), withPlugin('web-fetch'), { id: 'a' }].map(mayChangeFiles)).not.toContain(true)
})
