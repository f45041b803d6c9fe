import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { randomLog } from '../../test/view/random-log.ts'
import { recordings } from '../../test/view/recorded-runs.ts'
import { continueNote } from '../core/interruption-note.ts'
import type { LogEntry } from '../core/log.ts'
import { textOf } from '../core/turn.ts'
import type { AgentEvent } from '../events/events.ts'
import { followEvents } from '../events/events.ts'
import { type AgentOptions, createAgent, createMemoryStore, createSession } from '../index.ts'
import { call, memoryExecution, scripted, tool } from '../testing/index.ts'
import { edit, shell, todowrite } from '../tools/index.ts'
import type { CallRow } from './rows.ts'
import { emptyView, foldEntries, foldEvent, foldEvents, type SessionView } from './session-view.ts'

const kinds = (view: SessionView): string[] => [...view.rows].map(({ kind }) => kind)
const callOf = (view: SessionView, id: string): CallRow => {
  const row = [...view.rows].find((one) => one.id === id)
  if (row?.kind !== 'call') throw new Error(`no call ${id} in ${kinds(view)}`)
  return row
}

/** Runs an agent and collects its events. */
async function eventsOf(options: AgentOptions, ...prompts: string[]): Promise<AgentEvent[]> {
  const agent = createAgent(options)
  const events: AgentEvent[] = []
  followEvents(agent, (event) => events.push(event))
  for (const prompt of prompts) await agent.run({ prompt }).catch(() => {})
  await agent.destroy()
  return events
}

describe('the view of a run', () => {
  test('SV01 has a row for each message, answer and call, with its result', async () => {
    const look = tool('look', () => ({ output: 'a lake', details: { n: 1 } }))
    const provider = scripted([call('1', 'look', { at: 'north' })], 'It is a lake.')
    const view = foldEvents(emptyView, await eventsOf({ provider, tools: { look } }, 'What is there?'))
    expect(kinds(view)).toEqual(['message', 'answer', 'call', 'answer'])
    expect(callOf(view, '1')).toMatchObject({
      name: 'look',
      input: { at: 'north' },
      state: 'over',
      started: { attempt: 1 },
      result: { output: 'a lake', outcome: 'done', details: { n: 1 } },
    })
    expect(view.rows.at(-1)).toMatchObject({ text: 'It is a lake.', model: expect.any(String) })
    expect(view).toMatchObject({ status: 'idle', queue: [], usage: { calls: 2 } })
  })

  test('SV01 shows an answer while it streams, as one row that grows', async () => {
    const events = await eventsOf({ provider: scripted('Once upon a time.') }, 'Tell.')
    const texts = new Set<string>()
    let view = emptyView
    for (const event of events) {
      view = foldEvent(view, event)
      const row = view.rows.at(-1)
      if (row?.kind === 'answer' && row.isOpen) texts.add(row.text)
    }
    expect([...texts].at(-1)).toBe('Once upon a time.')
    expect(view.rows.at(-1)).not.toHaveProperty('isOpen')
  })

  test('SV07 keeps what an interrupted answer said', async () => {
    const agent = createAgent({ provider: scripted('Once upon a time.') })
    const events: AgentEvent[] = []
    followEvents(agent, (event) => {
      events.push(event)
      if (!event.durable && event.type === 'text') agent.abort()
    })
    await agent.run({ prompt: 'Tell.' }).catch(() => {})
    await agent.destroy()
    const view = foldEvents(emptyView, events)
    expect(view.rows.at(1)).toMatchObject({ kind: 'answer', isInterrupted: true, text: expect.stringMatching(/^Once/) })
    expect(view.rows.at(-1)).toMatchObject({ kind: 'notice', about: 'run', text: 'Stopped' })
  })

  test('SV03 shows a question about a call, who answered it, and why it was asked', async () => {
    const mail = tool('mail', () => 'sent')
    const options = (answer: boolean): AgentOptions => ({
      provider: scripted([call('1', 'mail')], 'Done.'),
      tools: { mail },
      authority: { interactors: [() => answer] },
    })
    const allowed = callOf(foldEvents(emptyView, await eventsOf(options(true), 'Go.')), '1')
    expect(allowed).toMatchObject({
      approvals: [{ reason: expect.stringContaining('the mode is ask'), answer: { decision: 'allow' } }],
      live: { decision: { verdict: 'allow', by: 'person' } },
    })
    const denied = callOf(foldEvents(emptyView, await eventsOf(options(false), 'Go.')), '1')
    expect(denied).toMatchObject({ approvals: [{ answer: { decision: 'deny' } }], result: { outcome: 'blocked' } })
  })

  test('SV03 a call that waits for a person makes the session wait', async () => {
    const session = await createSession({ store: createMemoryStore() })
    const tools = { mail: tool('mail', () => 'sent') }
    const provider = scripted([call('1', 'mail')], 'Done.')
    const view = foldEvents(emptyView, await eventsOf({ provider, tools, session, authority: {} }, 'Go.'))
    expect(view.status).toBe('waiting')
    expect(callOf(view, '1').state).toBe('waiting')
  })

  test('SV05 has the todo list, the background jobs and the messages that wait', async () => {
    const todos = [{ content: 'look', status: 'in_progress' as const }]
    let end = (): void => {}
    const execution = memoryExecution({ exec: () => new Promise((done) => (end = () => done({}))) })
    const provider = scripted(
      [call('1', 'todowrite', { todos }), call('2', 'shell', { command: 'serve', background: true })],
      'Done.',
      'And done.',
    )
    const agent = createAgent({ provider, tools: { todowrite, shell }, execution })
    let view = emptyView
    const queues = new Set<number>()
    followEvents(agent, (event) => {
      view = foldEvent(view, event)
      queues.add(view.queue.length)
      if (event.durable && event.entry.type === 'call_started' && event.entry.callId === '2')
        void agent.followUp('And then?')
    })
    await agent.run({ prompt: 'Go.' })
    expect(view.todos).toEqual(todos)
    expect(view.jobs).toEqual([{ job: 1, command: 'serve', callId: '2' }])
    expect([...queues]).toEqual([0, 1])
    end()
    await agent.destroy()
  })

  test('SV04 has sub-agents as views of their own, with the call that each works for', async () => {
    const ask = tool('ask', async (_, ctx) => {
      const child = await ctx.createChild({ preset: {} })
      return (await child.run({ prompt: 'Deeper?' })).text
    })
    const provider = scripted([call('1', 'ask')], 'Deep.', 'Done.')
    const view = foldEvents(emptyView, await eventsOf({ provider, tools: { ask } }, 'Go.'))
    expect(view.children).toHaveLength(1)
    expect([...view.children[0]!.view.rows].map(({ kind }) => kind)).toEqual(['message', 'answer'])
    expect(view.children[0]).toMatchObject({ callId: '1', depth: 1, isOver: true })
  })
})

describe('the view of a recorded run', () => {
  const recorded = async (name: string): Promise<SessionView> =>
    foldEvents(emptyView, await recordings[Object.keys(recordings).find((one) => one.includes(name))!]!())
  const notices = (view: SessionView): string[] =>
    [...view.rows].flatMap((row) => (row.kind === 'notice' ? [`${row.about}: ${row.text}`] : []))

  test('SV01 shows the thinking of an answer, the outcome of each call, and its progress', async () => {
    const view = await recorded('tools that work')
    expect(view.rows.at(1)).toMatchObject({ kind: 'answer', thinking: 'Hm. Let me see.', text: 'I look.' })
    const outcomes = ['1', '2', '3'].map((id) => callOf(view, id).result?.outcome)
    expect(outcomes).toEqual(['error', 'done', 'unknown_tool'])
    expect(callOf(view, '2').live).toEqual({ progress: 'two thirds' })
  })

  test('SV02 has the diff of a change: before it, in the question to a person, and after it', async () => {
    const diff = expect.stringContaining('-two\n+three')
    expect(callOf(await recorded('an edit'), '1').result).toMatchObject({ diff })
    const execution = memoryExecution({ files: { 'a.txt': 'one\ntwo\n' } })
    const change = call('1', 'edit', { path: 'a.txt', old_string: 'two', new_string: 'three' })
    const authority = { interactors: [() => false] }
    const options = { provider: scripted([change], 'Done.'), tools: { edit }, execution, authority }
    const asked = callOf(foldEvents(emptyView, await eventsOf(options, 'Go.')), '1')
    expect(asked.approvals?.[0]?.preview?.files).toMatchObject([{ path: 'a.txt', change: 'edit', diff }])
  })

  test('SV03 shows each decision, who made it, why it was asked for and what they said; and what they answered', async () => {
    const view = await recorded('calls that a person allows')
    const by = { by: 'ann', note: [{ type: 'text', text: 'because' }] }
    const reason = 'mail is never sent unasked'
    expect(callOf(view, '1').approvals).toMatchObject([{ reason, answer: { decision: 'allow', ...by } }])
    expect(callOf(view, '2').approvals).toMatchObject([{ reason, answer: { decision: 'deny', ...by } }])
    const answered = callOf(await recorded('asks a question'), '1')
    expect(answered.approvals).toMatchObject([{ answer: { decision: 'reply', note: [{ text: 'red' }] } }])
    expect(answered).not.toHaveProperty('waitsFor')
  })

  test('SV03 a call that a tool asks a question in waits for an answer, until it has it', async () => {
    const states = new Set<string>()
    let view = emptyView
    for (const event of await recordings['a tool that asks a question, which is answered later']!()) {
      view = foldEvent(view, event)
      const row = [...view.rows].find(({ kind }) => kind === 'call') as CallRow | undefined
      if (row) states.add([row.state, row.waitsFor].join(' ').trim())
    }
    expect([...states]).toEqual(['streaming', 'open', 'running', 'waiting answer', 'over'])
  })

  test('SV05 a prompt after messages that an earlier run left is a message of the person', async () => {
    const messages = [...(await recorded('stopped while it runs')).rows].filter((row) => row.kind === 'message')
    const said = messages.map(({ content, mode = 'prompt', isNote }) => [
      textOf({ role: 'user', content }),
      mode,
      isNote,
    ])
    expect(said).toEqual([
      ['Wait.', 'prompt', undefined],
      ['Hurry.', 'steer', undefined],
      ['And then?', 'followUp', undefined],
      ['Again.', 'prompt', undefined],
    ])
  })

  test('SV05 messages of an import, and those that an undo brings back, are messages of the person; notes stay notes', () => {
    const turn = (id: string, role: 'user' | 'assistant', runId: string, text: string): LogEntry => {
      const body = { id, role, runId, createdAt: 0, content: [{ type: 'text', text }] } as const
      return { type: 'turn', id: `e${id}`, seq: ++seq, at: 0, turn: body }
    }
    let seq = 0
    const view = foldEntries(emptyView, [
      turn('1', 'user', '', 'imported'),
      turn('2', 'assistant', '', 'yes'),
      turn('3', 'user', '', 'imported too'),
      turn('4', 'user', 'run', 'brought back'),
      turn('5', 'user', 'run', 'a note of the program'),
      turn('6', 'assistant', 'run', 'yes'),
      turn('7', 'user', 'run', 'another note'),
      turn('8', 'user', 'later', continueNote),
    ])
    const notes = [...view.rows].flatMap((row) => (row.kind === 'message' && row.isNote ? row.id : []))
    expect(notes).toEqual(['5', '7', '8'])
  })

  test('SV06 has notices, summaries, and tokens and cost of all model calls', async () => {
    const view = await recorded('a summary, a rewind')
    expect(notices(view)).toEqual([
      expect.stringMatching(/^rewind: Went back to entry/),
      expect.stringMatching(/^run: The run ended at its limit of model calls/),
    ])
    expect(view.usage).toMatchObject({ calls: 3, input: 30, output: 15 })
    expect(view.usage).not.toHaveProperty('cost')
    expect((await recorded('an edit')).usage).toMatchObject({ cost: 0.25, cacheRead: 50, last: { output: 7 } })
    expect(notices(await recorded('a process that dies'))).toEqual(['run: The process ended during this run'])
    const events = await recordings['a summary, a rewind, a label and a limit']!()
    const before = foldEvents(
      emptyView,
      events.slice(0, events.findIndex((one) => one.durable && one.entry.type === 'label') + 1),
    )
    expect(kinds(before).slice(-2)).toEqual(['compaction', 'notice'])
  })

  test('SV07 shows what a model call that is tried again had said as void, and why one failed', async () => {
    const retries = new Set<string>()
    let view = emptyView
    for (const event of await recordings['a service that breaks off, then fails for good']!()) {
      view = foldEvent(view, event)
      if (view.retry) retries.add(`${view.retry.reason}, ${kinds(view).at(-1)}`)
    }
    expect([...retries]).toEqual([expect.stringMatching(/, message$/)])
    expect(view).toMatchObject({ status: 'failed' })
    expect(notices(view)).toEqual(['run: The run failed: Provider "scripted" failed: no'])
  })
})

describe('M10', () => {
  test('M10 a screen asks a view for the ids of all rows, and for the contents of those in sight', () => {
    const [log] = fc.sample(randomLog({ minLength: 50 }), { seed: 7, numRuns: 1 })
    const { rows } = foldEntries(emptyView, log!)
    const ids = rows.map(({ id }) => id)
    expect(new Set(ids).size).toBe(rows.length)
    expect(rows.slice(3, 6).map(({ id }) => id)).toEqual(ids.slice(3, 6))
  })
})
