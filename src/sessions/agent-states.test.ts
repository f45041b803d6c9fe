import { expect, test } from 'vitest'
import type { EntryBody, LogEntry } from '../core/log.ts'
import type { SessionSummary } from '../core/store.ts'
import { applyEntries, emptySummary, summaryOf } from './stored-summary.ts'

function summaryAfter(...bodies: readonly EntryBody[]): SessionSummary {
  const entries = bodies.map((body, i) => ({ seq: i + 1, id: `${i}`, at: 1, ...body })) as LogEntry[]
  return summaryOf(applyEntries(emptySummary, entries, 0), { id: 'agent-1', isHeld: false, mail: 'none' })
}

const agent = (note: unknown): EntryBody => ({ type: 'state', owner: 'workflow:agent', value: note })
const yields = (value: unknown): EntryBody => ({ type: 'state', owner: 'workflow:yield', value })
const helper = { definitionId: 'helper', name: 'Ada', isSubAgent: false, closed: false }
const suspended: readonly EntryBody[] = [
  { type: 'run_started', runId: 'r', model: 'm' },
  { type: 'run_ended', runId: 'r', status: 'suspended', stop: 'asks' },
]

test('the summary of an agent has its kind, its definition and its name, beside the tags that a person gave', () => {
  expect(summaryAfter({ type: 'details', tags: ['mine'] }, agent(helper))).toMatchObject({
    ...{ kind: 'agent', title: 'Ada', tags: ['mine', 'definition:helper', 'name:Ada'] },
  })
  expect(summaryAfter(agent(helper), agent({ ...helper, closed: true }))).toMatchObject({
    ...{ kind: 'closed agent', tags: ['definition:helper', 'name:Ada'] },
  })
  expect(summaryAfter(agent({ ...helper, isSubAgent: true })).kind).toBe('sub-agent')
  expect(summaryAfter(agent(7), agent(null), agent({ definitionId: [] }))).toMatchObject({ status: 'idle' })
})

test.each([
  ['interrupted', 'interrupted', 'interrupted'],
  ['submitted', 'interrupted', 'interrupted'],
  ['canceled', 'idle', undefined],
  [{ state: 'completed', message: {} }, 'idle', undefined],
  ['failed', 'failed', undefined],
  ['human', 'waiting', undefined],
  [{ state: 'toString' }, 'waiting', undefined],
])('an agent that yielded %j has the status %s', (value, status, attention) => {
  const summary = summaryAfter(agent(helper), ...suspended, yields(value))
  expect([summary.status, summary.attention]).toEqual([status, attention])
})

test('a yield during a run says nothing about the run', () => {
  expect(summaryAfter(agent(helper), suspended[0]!, yields('canceled'))).toMatchObject({ attention: 'owner_died' })
})
