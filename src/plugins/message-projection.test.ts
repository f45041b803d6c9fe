import { expect, test } from 'vitest'
import type { EntryBody } from '../core/log.ts'
import { MessageProjection } from './message-projection.ts'

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

test('words go back with a rewind, and nothing is under way after it', () => {
  const conversation = [started('r1'), turn('user', 'Hi'), turn('assistant', 'Hello.'), ended('r1', 'completed')]
  const { messages, status } = projected(
    ...conversation,
    ...[started('r2'), turn('user', 'More'), ended('r2', 'aborted')],
    { type: 'rewind', toSeq: 2 },
  )
  expect(messages.map(({ id }) => id)).toEqual(['Hi'])
  expect(status).toEqual({ state: 'completed', modified: 8 })
})

test('a run that found nothing to do leaves the agent as it stood', () => {
  const asked = [started('r1'), turn('user', 'Hi'), ended('r1', 'aborted')]
  expect(projected(...asked, started('r2'), ended('r2', 'completed')).status).toEqual({
    state: 'canceled',
    modified: 5,
  })
})
