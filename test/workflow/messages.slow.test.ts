import { describe, expect } from 'vitest'
import { createMessageList } from '../../src/chat/message-list.ts'
import type { LogEntry } from '../../src/core/log.ts'
import { Transcript } from '../../src/core/transcript.ts'
import { LogViews } from '../../src/plugins/log-views.ts'
import type { AgentInstanceMessage } from '../../src/plugins/message.ts'
import { loadSession } from '../../src/sessions/session.ts'
import { call, type Step } from '../../src/testing/scripted.ts'
import { emptyView, foldEntries } from '../../src/view/session-view.ts'
import { testInTurns } from '../soak.ts'
import { definition, type World, withTool, world } from './kit.ts'

const test = testInTurns(2)

/** Small, and the same for the same seed. */
function randomOf(seed: number): (below: number) => number {
  let state = seed * 2654435761
  return (below) => {
    state = (Math.imul(state ^ (state >>> 15), 2246822519) + 0x9e3779b9) | 0
    return Math.abs(state) % below
  }
}

const definitions = [definition('look', 'keep', 'fail', 'outer', 'summary', 'ask-question')]
const plugins = [
  withTool('look', () => 'seen', { isConcurrencySafe: true }),
  withTool('keep', ({ n }) => ({ output: 'kept', details: { duration: n === 9 ? null : n } }), {
    isConcurrencySafe: true,
  }),
  withTool('fail', () => Promise.reject(new Error('too dark'))),
  withTool('outer', () => '', {
    execute: async (_: unknown, ctx: { call?: (name: string, input: object) => Promise<unknown> }) =>
      String(await ctx.call?.('look', {})),
  }),
]

let ids = 0
function randomStep(random: (below: number) => number): Step {
  const name = () => ['look', 'keep', 'fail', 'outer'][random(4)]!
  const one = () => call(`c${++ids}`, name(), { n: [0, 1, 2, 3, 9][random(5)]! })
  const kind = random(10)
  if (kind < 5) return { text: random(2) ? 'Let me see' : '', calls: Array.from({ length: 1 + random(3) }, one) }
  if (kind === 5) return new Error('the service is down')
  if (kind === 6) return [call(`c${++ids}`, 'summary', { text: 'In short.' })]
  if (kind === 7) return [call(`c${++ids}`, 'ask-question', { question: 'Which?' })]
  if (kind === 8) return [{ type: 'start' }, { type: 'text', delta: 'Once upon' }]
  return 'An answer.'
}

async function randomConversation(seed: number): Promise<{ made: World; id: string }> {
  const random = randomOf(seed)
  const made = world([], { definitions, plugins })
  const { workflow, provider, store } = made
  const { id } = await workflow.createAgent('helper')
  for (let i = 0; i < 6; i++) {
    provider.push(...Array.from({ length: 4 }, () => randomStep(random)), 'The end.')
    const file = random(3) === 0 && { file: { mediaType: 'image/png', data: 'AAAA' } }
    const sending = workflow.sendMsgToAgent(id, { text: `m${i}`, ...file })
    const steering = Array.from({ length: random(2) * random(4) }, (_, n) =>
      workflow.sendMsgToAgent(id, { text: `m${i}.${n}`, ...file }),
    )
    if (random(4) === 0) {
      await new Promise((resolve) => setTimeout(resolve, random(4)))
      await workflow.cancelAgent(id)
    }
    await Promise.all([sending, ...steering])
    for (const { callId, isQuestion } of await workflow.pending(id))
      if (isQuestion && random(2)) await workflow.answerQuestion(id, callId, 'red')
    if (random(4) === 0) {
      const session = await loadSession(store, id)
      await session.rewind(random(session.log.head))
    }
  }
  await workflow.getMessages(id)
  return { made, id }
}

const readAnew = (id: string, entries: readonly LogEntry[]): LogViews => {
  const views = new LogViews(id, 1)
  for (const entry of entries) views.apply(entry)
  return views
}

/** The names of the messages that a turn brought. */
function lettersIn(entries: readonly LogEntry[], turnId: string): string[] {
  const turn = entries.find((entry) => entry.type === 'turn' && entry.turn.id === turnId)
  const consumed = turn?.type === 'turn' ? (turn.consumed ?? []) : []
  return consumed.map((_, i) => `${turnId}.${i + 1}`)
}

describe.each(Array.from({ length: 40 }, (_, i) => i + 1))('random conversation %i', (seed) => {
  test('SV13 is the same live and after reading, and in the view of its session, has each message once, and fades messages that are not sent', async () => {
    const { made, id } = await randomConversation(seed)
    const entries = await made.log(id)
    const views = readAnew(id, entries)
    const live = await made.workflow.getMessages(id)
    expect(live).toEqual(views.messages.messages)
    expect(await made.again().workflow.getMessages(id)).toEqual(live)
    expect(new Set(live.map((message) => message.id)).size).toBe(live.length)
    const rows = [...foldEntries(emptyView, entries).rows]
    const told = rows.filter((row) => row.kind === 'message' || row.kind === 'answer')
    const fromView = new Set(told.map((row) => row.id))
    expect(live.flatMap((message) => (fromView.has(message.id) ? [message.id] : []))).toEqual([...fromView])
    const results = rows.flatMap((row) => (row.kind === 'call' && row.result ? [`${row.id}.result`] : []))
    expect(live.flatMap(({ id: one, role }) => (role === 'tool' ? [one] : [])).toSorted()).toEqual(results.toSorted())

    const transcript = new Transcript()
    for (const entry of entries) transcript.apply(entry)
    const said = transcript.turns.filter(({ content }) => content.some(({ type }) => type !== 'tool_result'))
    const shown = live.filter(({ role, duration }) => role === 'user' || (role === 'assistant' && duration !== 0))
    const idsIn = (turnId: string): string[] => [turnId, ...lettersIn(entries, turnId).slice(1)]
    expect(shown.map((message) => message.id)).toEqual(said.flatMap((turn) => idsIn(turn.id)))
    expect(
      live
        .filter(({ role }) => role === 'assistant' || role === 'user')
        .every(({ metadata }) => (metadata?.round ?? 0) <= views.messages.rounds),
    ).toBe(true)

    const list = createMessageList()
    for (const message of live) list.apply(message)
    const sent = views.durations.of(transcript.turns)
    const sentIds = new Set(
      sent.flatMap(({ content }) => content.flatMap((block) => (block.type === 'tool_result' ? [block.callId] : []))),
    )
    const sentTurns = new Set(sent.map((message) => (message as { id?: string }).id))
    const fades = (message: AgentInstanceMessage) => [message.id, message.content, list.isFaded(message.id)]
    for (const message of live) {
      const { role, metadata, content, duration } = message
      const isSaying = duration === 0 && content === 'In short.'
      if (role === 'tool' && !isSaying)
        expect(fades(message)).toEqual([message.id, content, !sentIds.has(metadata!.callId!)])
      if (role === 'user') expect(fades(message)).toEqual([message.id, content, false])
      if (role === 'assistant' && duration !== 0)
        expect(fades(message)).toEqual([message.id, content, !sentTurns.has(message.id)])
    }
  })

  test('is restored by a rewind to any entry', async () => {
    const { made, id } = await randomConversation(seed + 1000)
    const entries = await made.log(id)
    const settled = entries.filter(({ type }) => type === 'run_ended')
    for (const { seq } of settled) {
      if (entries.some((entry) => entry.type === 'rewind' && entry.seq > seq && entry.toSeq < seq)) continue
      const before = readAnew(id, entries.slice(0, seq))
      if (!isWhole(entries.slice(0, seq))) continue
      const rewind = { type: 'rewind', toSeq: seq, seq: entries.length + 1, id: 'r', at: 0 } as const
      const after = readAnew(id, [...entries, rewind])
      expect(after.messages.messages).toEqual(before.messages.messages)
      expect(after.messages.rounds).toBe(before.messages.rounds)
      const transcript = new Transcript()
      for (const entry of entries.slice(0, seq)) transcript.apply(entry)
      expect(after.durations.of(transcript.turns)).toEqual(before.durations.of(transcript.turns))
    }
  })
})

/** No call waits for its result there. */
function isWhole(entries: readonly LogEntry[]): boolean {
  const transcript = new Transcript()
  for (const entry of entries) transcript.apply(entry)
  return !transcript.turnWithOpenCalls
}
