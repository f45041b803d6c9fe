import { describe, expect, test } from 'vitest'
import { continueNote } from '../../core/interruption-note.ts'
import type { EntryBody, LogEntry } from '../../core/log.ts'
import type { SessionTurn } from '../../core/turn.ts'
import { type RunTally, TallyReader } from './tally.ts'

/** Entries, ten milliseconds apart. */
const log = (...bodies: EntryBody[]): LogEntry[] =>
  bodies.map((body, i) => ({ ...body, seq: i + 1, id: `e${i + 1}`, at: 1000 + i * 10 }))
const started = (runId: string): EntryBody => ({ type: 'run_started', runId, model: 'm' })
const ended = (runId: string, stop = 'end'): EntryBody => ({ type: 'run_ended', runId, status: 'completed', stop })
const turn = (role: SessionTurn['role'], runId: string, usage?: SessionTurn['usage']): EntryBody => ({
  type: 'turn',
  turn: { id: 't', runId, role, content: [], createdAt: 0, ...(usage && { usage }) },
})
const failed = (runId: string, cause: string): EntryBody => ({
  type: 'usage',
  runId,
  cause,
  usage: { input: 1, output: 1, model: 'other' },
})
const reserved = (tokens: number): EntryBody => ({
  type: 'state',
  owner: 'limits',
  value: { reserved: { tokens, cost: tokens, turns: 1 } },
})
const released: EntryBody = { type: 'state', owner: 'limits', value: { reserved: null } }
const result = (callId: string, outcome: Extract<EntryBody, { type: 'call_result' }>['outcome']): EntryBody => ({
  type: 'call_result',
  callId,
  output: '',
  outcome,
})

describe('what a log tells', () => {
  test('replies, attempts and calls, by run', () => {
    const tallies = tallyLog(
      log(
        started('a'),
        turn('user', 'a'),
        turn('assistant', 'a', { input: 5, output: 6 }),
        { type: 'call_started', callId: '1', key: 'k', attempt: 1, replay: 'opaque' },
        result('1', 'done'),
        result('2', 'blocked'),
        result('1.1', 'done'),
        failed('a', 'failed attempt'),
        failed('a', 'summary'),
        ended('a'),
        started('b'),
      ),
      's',
    )
    expect(tallies.map(({ runId, hasPrompt }) => [runId, hasPrompt])).toEqual([
      ['a', true],
      ['b', false],
    ])
    const [a] = tallies
    expect(a!.replies).toEqual([
      { usage: { input: 5, output: 6 }, model: 'm' },
      { usage: { input: 1, output: 1, model: 'other' }, model: 'other' },
    ])
    expect(a!.failed.length).toBe(1)
    expect([...a!.calls]).toEqual(['s/1', 's/1.1'])
  })

  test('a run lasts until its end, one that crashed until its last entry', () => {
    const [a, b, c] = tallyLog(
      log(
        started('a'),
        turn('user', 'a'),
        ended('a'),
        started('b'),
        turn('user', 'b'),
        ended('b', 'crashed'),
        started('c'),
      ),
    )
    expect([a!.timeMs, b!.timeMs, c!.timeMs]).toEqual([20, 10, 0])
  })

  test('a request that nothing followed is lost; of several, the biggest', () => {
    const lostOf = (...bodies: EntryBody[]): number[] =>
      tallyLog(log(started('a'), ...bodies))[0]!.lost.map(({ tokens }) => tokens)
    expect(lostOf(reserved(9))).toEqual([9])
    expect(lostOf(reserved(9), turn('assistant', 'a', { input: 1, output: 1 }))).toEqual([])
    expect(lostOf(reserved(9), released)).toEqual([])
    expect(lostOf(reserved(9), failed('a', 'failed attempt'), reserved(9))).toEqual([9])
    expect(lostOf(reserved(9), reserved(4), turn('assistant', 'a', { input: 1, output: 1 }))).toEqual([9])
  })

  test('a prompt is what the user said before or at the beginning, not what was said during a run', () => {
    const promptsIn = (...bodies: EntryBody[]): boolean[] => tallyLog(log(...bodies)).map(({ hasPrompt }) => hasPrompt)
    expect(promptsIn(started('a'), result('1', 'skipped'), turn('user', 'a'))).toEqual([true])
    expect(promptsIn(turn('user', ''), started('a'), ended('a', 'crashed'), started('b'))).toEqual([true, false])
    expect(promptsIn(started('a'), turn('assistant', 'a'), turn('user', 'a'))).toEqual([false])
    const message: EntryBody = { type: 'input', mode: 'prompt', clientKey: 'k', content: [] }
    const delivered: EntryBody = { ...turn('user', 'a'), consumed: ['e1'] } as EntryBody
    expect(promptsIn(message, started('a'), released, delivered)).toEqual([true])
  })

  test('E05 a prompt is found after the states of extensions and the messages that came before it', () => {
    const state: EntryBody = { type: 'state', owner: 'authority', value: {} }
    const steering: EntryBody = { type: 'input', mode: 'steer', clientKey: 'k', content: [] }
    const delivered: EntryBody = { ...turn('user', 'b'), consumed: ['e4'] } as EntryBody
    const before = [started('a'), turn('user', 'a'), turn('assistant', 'a'), steering, ended('a', 'budget')]
    const tallies = tallyLog(log(...before, started('b'), state, delivered, turn('user', 'b')))
    expect(tallies.map(({ hasPrompt }) => hasPrompt)).toEqual([true, true])
  })

  test('E05 what is sent after an answer begins new work, what was sent before it or after a broken reply does not', () => {
    const steering: EntryBody = { type: 'input', mode: 'steer', clientKey: 'k', content: [] }
    const isNew = (...between: EntryBody[]): boolean => {
      const delivered: EntryBody = { ...turn('user', 'b'), consumed: between.map((_, i) => `e${i + 3}`) } as EntryBody
      return tallyLog(log(started('a'), turn('user', 'a'), ...between, started('b'), delivered)).at(-1)!.hasPrompt
    }
    const answer = turn('assistant', 'a')
    const broken = turn('assistant', 'a')
    if (broken.type === 'turn') Object.assign(broken.turn, { interrupted: true })
    expect(isNew(answer, ended('a'), steering)).toBe(true)
    expect(isNew(answer, steering, ended('a', 'budget'))).toBe(false)
    expect(isNew(broken, ended('a', 'crashed'), steering)).toBe(false)
  })

  test('the note after a reply that broke off is no prompt', () => {
    const note = turn('user', 'b')
    if (note.type === 'turn') Object.assign(note.turn, { content: [{ type: 'text', text: continueNote }] })
    expect(tallyLog(log(started('a'), turn('user', 'a'), ended('a', 'crashed'), started('b'), note))).toMatchObject([
      { hasPrompt: true },
      { hasPrompt: false },
    ])
  })

  test('who is steered, or told that a limit is near, goes on with the same work', () => {
    const steering: EntryBody = { type: 'input', mode: 'steer', clientKey: 'k', content: [] }
    const delivered: EntryBody = { ...turn('user', 'a'), consumed: ['e1'] } as EntryBody
    expect(tallyLog(log(steering, started('a'), result('1', 'skipped'), delivered))[0]!.hasPrompt).toBe(false)
    expect(tallyLog(log(started('a'), result('1', 'done'), turn('user', 'a')))[0]!.hasPrompt).toBe(false)
  })

  test('what others write into the log of a run that died does not make it live longer', () => {
    const late = (body: EntryBody, seq: number): LogEntry => ({ ...body, seq, id: `l${seq}`, at: 9_000_000 })
    const begun = log(started('a'), turn('user', 'a'))
    const message: EntryBody = { type: 'input', mode: 'steer', clientKey: 'k', content: [] }
    const answer: EntryBody = { type: 'approval_answered', callId: '1', digest: 'd', decision: 'allow', by: 'me' }
    for (const stop of ['crashed', 'forked'])
      for (const body of [message, answer, result('1', 'unknown')])
        expect(tallyLog([...begun, late(body, 3), late(ended('a', stop), 4)])[0]!.timeMs).toBe(10)
  })

  test('a clock that was set back takes no time away', () => {
    const [first, second] = log(started('a'), turn('user', 'a'))
    const end = { ...ended('a'), seq: 3, id: 'e3', at: 10 }
    expect(tallyLog([first!, second!, end])[0]!.timeMs).toBe(10)
  })

  test('a child’s calls are told apart by the log of their own', () => {
    const parent = { session: 's', runId: 'a', callId: '1' }
    const [child] = tallyLog(log({ type: 'run_started', runId: 'c', model: 'm', parent }, result('9', 'done')))
    expect([child!.parentRunId, ...child!.calls]).toEqual(['a', 's/1/9'])
  })
})

function tallyLog(entries: readonly LogEntry[], logId?: string): RunTally[] {
  const reader = new TallyReader(logId)
  for (const entry of entries) reader.read(entry)
  return reader.tallies
}
