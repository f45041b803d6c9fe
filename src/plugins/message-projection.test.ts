import { expect, test } from 'vitest'
import type { EntryBody } from '../core/log.ts'
import { MessageProjection } from './message-projection.ts'
import { snapshotEntry } from './turn-snapshots.ts'

function projected(...bodies: readonly EntryBody[]): MessageProjection {
  const projection = new MessageProjection({ agentId: 'agent-a', resultDuration: 1 })
  for (const [i, body] of bodies.entries()) projection.apply({ ...body, seq: i + 1, id: `e${i + 1}`, at: i + 1 })
  return projection
}

const started = (runId: string): EntryBody => ({ type: 'run_started', runId, model: 'm' })
const ended = (runId: string, status: 'completed' | 'aborted'): EntryBody => ({
  ...{ type: 'run_ended', runId, status },
  stop: status === 'completed' ? 'end_turn' : 'aborted',
})
const turn = (role: 'user' | 'assistant', text: string): EntryBody => ({
  type: 'turn',
  turn: { id: text, runId: 'r', role, content: [{ type: 'text', text }], createdAt: 0 },
})

test('a rewind removes messages, and nothing is under way after it', () => {
  const conversation = [started('r1'), turn('user', 'Hi'), turn('assistant', 'Hello.'), ended('r1', 'completed')]
  const { messages, status } = projected(
    ...conversation,
    ...[started('r2'), turn('user', 'More'), ended('r2', 'aborted')],
    { type: 'rewind', toSeq: 2 },
  )
  expect(messages.map(({ id }) => id)).toEqual(['Hi'])
  expect(status).toEqual({ state: 'completed', modified: 8 })
})

const letter = (text: string): EntryBody => ({
  ...{ type: 'input', mode: 'steer', clientKey: text },
  content: [{ type: 'text', text }],
})
const delivered = (consumed: readonly string[], ...said: readonly string[]): EntryBody => ({
  ...{ type: 'turn', consumed },
  turn: { id: 't', runId: 'r', role: 'user', content: said.map((text) => ({ type: 'text', text })), createdAt: 0 },
})
const shown = ({ messages }: MessageProjection): unknown =>
  messages.map(({ id, content, hidden = false }) => [id, content, hidden])

test('the note of a plugin in the turn of a message is not attributed to the sender', () => {
  const conversation = [started('r1'), turn('user', 'Hi'), turn('assistant', 'Hello.')]
  const told = projected(...conversation, letter('And?'), delivered(['e4'], 'And?', 'Be brief.'))
  expect(shown(told)).toEqual([
    ['Hi', 'Hi', false],
    ['Hello.', 'Hello.', false],
    ['t', 'And?', false],
    ['t.note', 'Be brief.', true],
  ])
})

test('a turn whose messages are not in the log is one message', () => {
  expect(shown(projected(started('r1'), letter('One'), delivered(['e2', 'e9'], 'One', 'Two')))).toEqual([
    ['t', 'One\nTwo', false],
  ])
})

test('a run without work does not change the state of the agent', () => {
  const asked = [started('r1'), turn('user', 'Hi'), ended('r1', 'aborted')]
  expect(projected(...asked, started('r2'), ended('r2', 'completed')).status).toEqual({
    state: 'canceled',
    modified: 5,
  })
})

test('D047 files that were rolled back with an earlier message are marked with it, until they change again', () => {
  const kept = (messageId: string, note: object): EntryBody => snapshotEntry({ messageId, folder: '.', ...note })
  const said = ['Dig', 'Water'].flatMap((text) => [
    turn('user', text),
    kept(text, { before: { id: `before ${text}` } }),
  ])
  const back = kept('Dig', { isRolledBack: true, withIt: ['Water'] })
  const known = (...more: readonly EntryBody[]): unknown => {
    const projection = projected(...said, ...more)
    const marks = projection.messages.map(({ metadata }) => metadata?.rolledBack)
    return [marks, projection.files.since('Dig').map(({ rolledBack }) => rolledBack?.to)]
  }
  expect(known(back)).toEqual([
    [true, true],
    ['Dig', 'Dig'],
  ])
  expect(known(back, kept('Dig', { isRolledBack: false, withIt: ['Water'] }))).toEqual([
    [false, false],
    [undefined, undefined],
  ])
  expect(known(back, kept('Water', { after: { id: 'after it was woken' } }))).toEqual([
    [true, true],
    [undefined, undefined],
  ])
})
