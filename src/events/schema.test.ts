import { Validator } from '@cfworker/json-schema'
import { describe, expect, test } from 'vitest'
import type { ToolOrigin } from '../core/authority.ts'
import type { EntryBody } from '../core/log.ts'
import type { JsonSchema } from '../core/tool.ts'
import type { SessionContentBlock } from '../core/turn.ts'
import type { Provisional } from './events.ts'
import { eventSchema, eventVersion } from './index.ts'

/** One of each type, with every field it can have: the compiler sees to both. */
type Samples<Union extends { type: string }> = { [Type in Union['type']]: Required<Extract<Union, { type: Type }>> }

const text = { type: 'text', text: 'x', providerData: {} } as const
const failure = { name: 'Error', message: 'x', providerCode: 'c', retryable: false }
const origin: ToolOrigin = { layer: 'mcp', path: 'p', digest: 'd', isChanged: true, replaces: ['bundled'] }
const usage = { input: 1, output: 2, cacheRead: 3, cacheCreation: 4, cost: 0.5, model: 'm' }
const turn = {
  id: 't',
  runId: '',
  role: 'assistant',
  content: [text],
  createdAt: 0.5,
  usage,
  model: 'm',
  meta: { n: 1 },
} as const

const entries: Samples<EntryBody> = {
  run_started: {
    type: 'run_started',
    runId: 'r',
    model: 'm',
    agent: 'a',
    parent: { session: 's', runId: 'r', callId: 'c' },
    meta: { sender: 'ada' },
    processId: 'p',
    unconfined: 'no sandbox',
    trace: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  },
  details: { type: 'details', title: 't', tags: ['a'], tenant: 'x', kind: 'k', folder: '/f' },
  input: { type: 'input', mode: 'answer', clientKey: 'k', content: [text], callId: 'c', meta: { sender: 'ada' } },
  withdrawn: { type: 'withdrawn', input: 'e' },
  attempt: { type: 'attempt', runId: 'r', turnId: 't', attempt: 1 },
  turn: { type: 'turn', turn, stop: 'end', consumed: ['e'], clientKey: 'k' },
  call_started: { type: 'call_started', callId: 'c', key: 'k', attempt: 1, replay: 'keyed', origin },
  call_result: { type: 'call_result', callId: 'c', output: [text], isError: true, outcome: 'error', details: null },
  approval_requested: {
    type: 'approval_requested',
    callId: 'c',
    digest: 'd',
    reason: 'r',
    request: {},
    signature: { keyId: 'k' },
    origin,
    call: { name: 'n', input: {} },
  },
  approval_answered: {
    type: 'approval_answered',
    callId: 'c',
    digest: 'd',
    decision: 'deny',
    by: 'me',
    scope: 'session',
    where: 'outside',
    edits: [{ decision: 'allow' }, { decision: 'deny', note: 'x' }],
    rule: 'x',
    mac: 'm',
    note: [text],
    clientKey: 'k',
    meta: { sender: 'ada' },
  },
  usage: { type: 'usage', runId: 'r', cause: 'title', usage },
  state: { type: 'state', owner: 'o', value: [1] },
  compaction: { type: 'compaction', toSeq: 0, summary: [text] },
  context_edit: { type: 'context_edit', turnId: 't', block: 0, replacement: text, provider: 'p' },
  rewind: { type: 'rewind', toSeq: 0 },
  checkpoint: { type: 'checkpoint', from: 0, state: {} },
  label: { type: 'label', text: 'x' },
  parked: { type: 'parked', reason: 'x' },
  unparked: { type: 'unparked' },
  run_ended: {
    type: 'run_ended',
    runId: 'r',
    status: 'completed',
    stop: 'end',
    stoppedAt: 1,
    dropsTo: 1,
    error: failure,
    output: 1,
    sharedCrash: 2,
  },
}

const provisional: Samples<Provisional> = {
  turn_started: { type: 'turn_started', turnId: 't', step: 1 },
  stream_started: { type: 'stream_started', turnId: 't', attempt: 1 },
  stream_void: { type: 'stream_void', turnId: 't', attempt: 2, reason: 'x', delayMs: 0 },
  text: { type: 'text', turnId: 't', attempt: 1, delta: 'x' },
  thinking: { type: 'thinking', turnId: 't', attempt: 1, delta: 'x' },
  tool_start: { type: 'tool_start', turnId: 't', callId: 'c', name: 'n', displayName: 'N', origin },
  call_decided: {
    type: 'call_decided',
    turnId: 't',
    callId: 'c',
    name: 'n',
    decision: { verdict: 'deny', by: 'deny-rule', rule: 'r', why: 'w', code: 'c' },
    origin,
    approver: 'ada',
    parentCallId: 'p',
  },
  tool_args: { type: 'tool_args', turnId: 't', callId: 'c', delta: '{' },
  tool_end: { type: 'tool_end', turnId: 't', callId: 'c' },
  tool_progress: { type: 'tool_progress', turnId: 't', callId: 'c', text: 'x' },
  turn_failed: { type: 'turn_failed', turnId: 't', stop: 'error', error: 'x', partial: 'y' },
}

const blocks: Samples<SessionContentBlock> = {
  text,
  image: { type: 'image', mediaType: 'image/png', data: 'aGk=' },
  document: { type: 'document', mediaType: 'application/pdf', data: 'aGk=', name: 'n' },
  thinking: { type: 'thinking', text: 'x', signature: 's', providerData: {} },
  tool_call: {
    type: 'tool_call',
    id: 'c',
    name: 'n',
    input: { any: [1] },
    raw: '{',
    unreadable: 'x',
    providerData: {},
  },
  tool_result: { type: 'tool_result', callId: 'c', output: 'x', isError: false },
}

/** What a member of a union may lack. */
const optional: Partial<Record<string, readonly string[]>> = {
  entry_run_started: ['agent', 'parent', 'meta', 'processId', 'unconfined', 'trace'],
  entry_details: ['title', 'tags', 'tenant', 'kind', 'folder'],
  entry_turn: ['stop', 'consumed', 'clientKey'],
  entry_call_started: ['origin'],
  entry_call_result: ['isError', 'details'],
  entry_input: ['callId', 'meta'],
  entry_approval_requested: ['reason', 'request', 'signature', 'origin', 'call'],
  entry_approval_answered: ['scope', 'where', 'edits', 'rule', 'mac', 'note', 'clientKey', 'meta'],
  entry_context_edit: ['replacement', 'provider'],
  entry_run_ended: ['stoppedAt', 'dropsTo', 'error', 'output', 'sharedCrash'],
  provisional_stream_void: ['delayMs'],
  provisional_tool_start: ['origin'],
  provisional_call_decided: ['origin', 'approver', 'parentCallId'],
  provisional_turn_failed: ['partial'],
  block_document: ['name'],
  block_text: ['providerData'],
  block_thinking: ['signature', 'providerData'],
  block_tool_call: ['raw', 'unreadable', 'providerData'],
  block_tool_result: ['isError'],
}

const stamp = { seq: 1, id: 'e', at: 0 }
const durableOf = (entry: object): object => ({ durable: true, seq: 1, entry })
const shown = { durable: false, after: 0, n: 1 }

describe.each([
  ['entry', entries, (body: object) => durableOf({ ...stamp, ...body })],
  ['provisional', provisional, (body: object) => ({ ...shown, ...body })],
  ['block', blocks, (block: object) => durableOf({ ...stamp, type: 'compaction', toSeq: 0, summary: [block] })],
] as const)('the union %s', (union, samples, eventWith) => {
  test('has the same types in TypeScript and in the schema', () => {
    const { anyOf } = defs[union] as { anyOf: { $ref: string }[] }
    const listed = anyOf.map(({ $ref }) => $ref.slice(`#/$defs/${union}_`.length)).filter((type) => type !== later)
    expect(listed.sort()).toEqual(Object.keys(samples).sort())
  })

  test.each(Object.entries(samples))(
    'describes every field of %s and asks for those it cannot do without',
    (type, sample) => {
      const named = Object.keys(defs[`${union}_${type}`]?.properties ?? {})
      expect(named).toEqual(expect.arrayContaining(Object.keys(sample)))
      expect(isValid(eventWith(sample))).toBe(true)
      const dispensable = Object.keys(sample).filter((field) => isValid(eventWith(without(sample, field))))
      expect(dispensable).toEqual(optional[`${union}_${type}`] ?? [])
    },
  )
})

test('the schema names its draft and the version of the stream, and is nothing but data', () => {
  expect(eventSchema).toMatchObject({
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    $id: `urn:libero:event:${eventVersion}`,
  })
  expect(JSON.parse(JSON.stringify(eventSchema))).toEqual(eventSchema)
})

test('entries of a later version pass, as long as they are entries', () => {
  const entry = { ...stamp, type: 'invented_later', more: [1] }
  expect(isValid(durableOf(entry))).toBe(true)
  expect(Object.keys(entry).filter((field) => isValid(durableOf(without(entry, field))))).toEqual(['more'])
})

test('fields of a later version pass', () => {
  expect(isValid({ ...shown, ...provisional.tool_end, more: 1 })).toBe(true)
  expect(isValid(durableOf({ ...stamp, ...entries.label, more: 1 }))).toBe(true)
})

test.each<[why: string, event: unknown]>([
  ['nothing', null],
  ['no event at all', {}],
  ['a durable event without its entry', { durable: true, seq: 1 }],
  ['a number that is none', { ...durableOf({ ...stamp, ...entries.label }), seq: '1' }],
  ['an entry before the first', durableOf({ ...stamp, ...entries.label, seq: 0 })],
  ['a known entry with a field of another kind', durableOf({ ...stamp, type: 'label', text: 5 })],
  ['an unknown outcome', durableOf({ ...stamp, ...entries.call_result, outcome: 'splendid' })],
  ['an unknown status', durableOf({ ...stamp, ...entries.run_ended, status: 'happy' })],
  ['an unknown role', durableOf({ ...stamp, type: 'turn', turn: { ...turn, role: 'system' } })],
  ['an unknown block', durableOf({ ...stamp, type: 'turn', turn: { ...turn, content: [{ type: 'smell' }] } })],
  ['negative usage', durableOf({ ...stamp, ...entries.usage, usage: { input: -1, output: 0 } })],
  ['a document as the output of a tool', durableOf({ ...stamp, ...entries.call_result, output: [blocks.document] })],
  ['an unknown provisional event', { ...shown, type: 'sound', turnId: 't' }],
  ['a provisional event that is number 0', { ...shown, ...provisional.tool_end, n: 0 }],
  ['a provisional event that claims to be durable', { ...shown, ...provisional.tool_end, durable: true }],
])('%s is refused', (_, event) => {
  expect(isValid(event)).toBe(false)
})

const later = 'of_a_later_version'
const defs = eventSchema.$defs as Record<string, JsonSchema>
const validator = new Validator(eventSchema, '2020-12')
const isValid = (event: unknown): boolean => validator.validate(event).valid

function without(whole: object, field: string): object {
  return Object.fromEntries(Object.entries(whole).filter(([key]) => key !== field))
}
