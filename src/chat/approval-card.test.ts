import { describe, expect, test } from 'vitest'
import { readAnswer } from '../authority/interaction/interaction-kinds.ts'
import type { PendingCall } from '../core/store.ts'
import {
  answerApproval,
  approvalOfPending,
  approvalOfPrompt,
  approvalPendingAnswers,
  approvalResponse,
  isPendingApproval,
} from './approval-card.ts'
import { expireCard, withdrawCard } from './card-status.ts'

const choices = [
  { scope: 'once', where: 'inside', words: 'once, inside' },
  { scope: 'once', where: 'outside', words: 'once, outside' },
  { scope: 'session', where: 'inside', words: 'in this session: every `touch`, inside' },
  { scope: 'project', where: 'inside', words: 'always: every `touch`, inside' },
]
const payloadOf = (callId: string, tool: string) => ({
  kind: 'Approve',
  toolId: tool,
  approvalKey: 'k',
  description: `Allow ${tool}?\ntool: ${tool}`,
  call: { callId, tool, origin: { layer: 'bundled' }, effects: [] },
  consent: { title: `Allow ${tool}?`, lines: [`tool: ${tool}`, 'asked because: nothing allows it'] },
  digest: 'D',
  choices,
})

const one = approvalOfPrompt({ correlationId: 'q', payload: payloadOf('c1', 'shell'), expiresAt: 5 })
const batch = approvalOfPrompt({
  correlationId: 'q',
  payload: {
    kind: 'Approve',
    toolId: 'shell, edit',
    calls: [payloadOf('c1', 'shell'), payloadOf('c2', 'edit')],
    choices: choices.slice(0, 1),
  },
})
const waiting: PendingCall = {
  callId: 'c1',
  name: 'write_file',
  input: { path: 'a' },
  reason: 'nothing allows it',
  digest: 'D',
  request: payloadOf('c1', 'write_file'),
}

describe('the content of a card', () => {
  test('T05 of an edit: its effect on the file, live and pending', () => {
    const file = { path: 'a', change: 'replace', added: 1, removed: 2, diff: '@@ -1,2 +1,1 @@\n-x\n-y\n+z' } as const
    const payload = { ...payloadOf('c1', 'write_file'), preview: { files: [file, 'nonsense'] } }
    expect(approvalOfPrompt({ correlationId: 'q', payload }).calls[0]?.preview).toEqual({ files: [file] })
    expect(approvalOfPending({ ...waiting, request: payload }).calls[0]?.preview).toEqual({ files: [file] })
  })

  test('of a live prompt: the tool, the lines of the authority, and the choices', () => {
    expect(one).toEqual({
      id: 'q',
      status: 'open',
      isDisabled: false,
      title: 'Allow shell?',
      calls: [{ callId: 'c1', tool: 'shell', reason: '', lines: ['tool: shell', 'asked because: nothing allows it'] }],
      choices: ['allow', 'allow-outside', 'allow-session', 'allow-project', 'deny'],
      words: {
        allow: 'once, inside',
        'allow-outside': 'once, outside',
        'allow-session': 'in this session: every `touch`, inside',
        'allow-project': 'always: every `touch`, inside',
      },
      expiresAt: 5,
    })
  })

  test('of a pending call: parameters, reason and choices', () => {
    const card = approvalOfPending(waiting)
    expect(card).toMatchObject({ id: 'c1', title: 'Allow write_file?', choices: one.choices, words: one.words })
    expect(card.calls).toEqual([
      {
        callId: 'c1',
        tool: 'write_file',
        reason: 'nothing allows it',
        parameters: { path: 'a' },
        lines: ['tool: write_file', 'asked because: nothing allows it'],
      },
    ])
    const { request: _, ...bare } = waiting
    expect(approvalOfPending(bare)).toMatchObject({ calls: [{ lines: [] }], choices: ['allow', 'deny'], words: {} })
    expect(() => approvalOfPending([])).toThrow('approvalOfPending needs at least one call that waits, got none')
  })

  test('of several calls: each with its own lines', () => {
    expect(batch.title).toBe('Allow these 2 calls?')
    expect(batch.calls.map(({ tool, lines }) => [tool, lines[0]])).toEqual([
      ['shell', 'tool: shell'],
      ['edit', 'tool: edit'],
    ])
    expect(batch.choices).toEqual(['allow', 'deny'])
    const request = {
      kind: 'permission-required',
      payload: { calls: [payloadOf('c1', 'shell'), payloadOf('c2', 'edit')] },
    }
    const pending = approvalOfPending([
      { ...waiting, request },
      { ...waiting, callId: 'c2', request },
    ])
    expect(pending.calls.map(({ callId, lines }) => [callId, lines[0]])).toEqual([
      ['c1', 'tool: shell'],
      ['c2', 'tool: edit'],
    ])
  })

  test('of an incomplete or invalid prompt', () => {
    const bare = approvalOfPrompt({
      correlationId: 'q',
      payload: { calls: 3, choices: [{ scope: 'project' }, 'session', null], toolId: 'x'.repeat(500) },
    })
    expect(bare.choices).toEqual(['allow', 'deny'])
    expect(bare.title.length).toBeLessThan(120)
    expect(bare.calls).toHaveLength(1)
    const described = approvalOfPrompt({ correlationId: 'q', payload: { calls: [], description: 'a\nb' } })
    expect(described.calls).toEqual([{ callId: 'q', tool: 'a tool that is not named', reason: '', lines: ['a', 'b'] }])
  })

  test('that can only run outside offers one way to allow it once', () => {
    const only = [{ scope: 'once', where: 'outside', words: 'once, outside' }]
    const card = approvalOfPrompt({ correlationId: 'q', payload: { ...payloadOf('c1', 'shell'), choices: only } })
    expect([card.choices, card.words]).toEqual([['allow', 'deny'], { allow: 'once, outside' }])
  })

  test('calls that wait for a text answer are distinguished', () => {
    expect(isPendingApproval(waiting)).toBe(true)
    const { request: _, ...question } = { ...waiting, digest: 'c1' }
    expect(isPendingApproval(question)).toBe(false)
  })
})

describe('D044 an approval', () => {
  test.each([
    ['allow', { scope: 'once' }],
    ['allow-outside', { scope: 'once', where: 'outside' }],
    ['allow-session', { scope: 'session' }],
    ['allow-project', { scope: 'project' }],
  ] as const)('D044 %s is answered once, and closed after that', (choice, extent) => {
    const first = answerApproval(one, choice)
    if (!first.isAccepted) throw new Error(first.reason)
    expect(first.card).toMatchObject({
      status: 'answered',
      isDisabled: true,
      answer: { choice, calls: { c1: 'allow' } },
    })
    expect(approvalResponse(first.answer)).toEqual({ status: 'accepted', value: extent })
    expect(approvalPendingAnswers(first.answer)).toEqual([['c1', { decision: 'allow', ...extent }]])
    expect(answerApproval(first.card, 'deny')).toEqual({
      isAccepted: false,
      card: first.card,
      reason: 'This was answered already; the first answer counts.',
    })
    expect(one.status).toBe('open')
  })

  test('D044 a denial carries a note for the model', () => {
    const outcome = answerApproval(one, 'deny', { note: 'use the other file' })
    if (!outcome.isAccepted) throw new Error(outcome.reason)
    expect(outcome.card.isDisabled).toBe(true)
    expect(approvalResponse(outcome.answer)).toEqual({ status: 'rejected', reason: 'use the other file' })
    expect(approvalPendingAnswers(outcome.answer)).toEqual([
      ['c1', { decision: 'deny', content: 'use the other file' }],
    ])
  })

  test('D044 that expired or was withdrawn accepts no answer, and an answered one does not expire', () => {
    for (const card of [expireCard(one), withdrawCard(one)]) {
      expect(card.isDisabled).toBe(true)
      expect(answerApproval(card, 'allow')).toMatchObject({ isAccepted: false, card })
    }
    expect(answerApproval(expireCard(one), 'allow')).toMatchObject({
      reason: expect.stringContaining('no answer in time'),
    })
    expect(answerApproval(withdrawCard(one), 'allow')).toMatchObject({
      reason: expect.stringContaining('withdrawn'),
    })
    const answered = answerApproval(one, 'deny').card
    expect(expireCard(answered)).toBe(answered)
    expect(withdrawCard(answered)).toBe(answered)
  })

  test('D044 that was decided elsewhere is closed from the start', () => {
    expect(approvalOfPending({ ...waiting, decision: 'allow' })).toMatchObject({ status: 'answered', isDisabled: true })
    expect(approvalOfPending({ ...waiting, decision: 'expired' }).status).toBe('expired')
    const half = approvalOfPending([
      { ...waiting, decision: 'deny' },
      { ...waiting, callId: 'c2' },
    ])
    expect(half.status).toBe('open')
  })

  test('accepts only the offered choices, and stays open otherwise', () => {
    const outcome = answerApproval(batch, 'allow-project')
    expect(outcome).toEqual({
      isAccepted: false,
      card: batch,
      reason: '"allow-project" is not offered here; choose one of allow, deny.',
    })
    expect(answerApproval(batch, 'allow', { except: ['c9'] })).toMatchObject({
      reason: 'There is no call "c9" here; except names calls of this card: c1, c2.',
    })
  })

  test('of several calls may allow some', () => {
    const outcome = answerApproval(batch, 'allow', { except: ['c2'] })
    if (!outcome.isAccepted) throw new Error(outcome.reason)
    expect(approvalResponse(outcome.answer)).toEqual({
      status: 'accepted',
      value: { scope: 'once', calls: { c1: 'allow', c2: 'deny' } },
    })
    expect(approvalPendingAnswers(outcome.answer)).toEqual([
      ['c1', { decision: 'allow', scope: 'once' }],
      ['c2', { decision: 'deny' }],
    ])
  })

  test('with every call denied is a rejection', () => {
    for (const [card, except] of [
      [one, ['c1']],
      [batch, ['c1', 'c2']],
    ] as const) {
      const outcome = answerApproval(card, 'allow', { except })
      if (!outcome.isAccepted) throw new Error(outcome.reason)
      expect(approvalResponse(outcome.answer)).toMatchObject({ status: 'rejected' })
    }
  })

  test('HK07 may decide about each edit of a call, and about all of them', () => {
    const edits = [{ decision: 'allow' }, { decision: 'deny', note: 'no' }] as const
    const payload = { ...payloadOf('c1', 'multi_edit'), edits: 2 }
    const cards = {
      one: approvalOfPrompt({ correlationId: 'q', payload }),
      batch: approvalOfPrompt({ correlationId: 'q', payload: { calls: [payload, payloadOf('c2', 'edit')], choices } }),
    }
    const responses = Object.values(cards).map((card) => {
      const outcome = answerApproval(card, 'allow', { edits: { c1: edits } })
      if (!outcome.isAccepted) throw new Error(outcome.reason)
      expect(approvalPendingAnswers(outcome.answer)[0]).toEqual(['c1', { decision: 'allow', scope: 'once', edits }])
      return approvalResponse(outcome.answer)
    })
    expect(responses).toEqual([
      { status: 'accepted', value: { scope: 'once', edits } },
      { status: 'accepted', value: { scope: 'once', calls: { c1: { decision: 'allow', edits }, c2: 'allow' } } },
    ])
    expect(readAnswer('Approve', responses[0], payload)).toEqual(responses[0])
    expect(answerApproval(cards.one, 'allow', { edits: { c1: edits.slice(1) } })).toMatchObject({
      reason: '"c1" has 2 edits; decide about each of them.',
    })
    expect(answerApproval(cards.batch, 'allow', { edits: { c2: edits } })).toMatchObject({ isAccepted: false })
    const none = answerApproval(cards.one, 'allow', { edits: { c1: [edits[1], edits[1]] } })
    expect(none.isAccepted && approvalResponse(none.answer)).toMatchObject({ status: 'rejected' })
  })

  test('gives answers that the authority reads', () => {
    for (const card of [one, batch])
      for (const choice of card.choices) {
        const outcome = answerApproval(card, choice, { note: 'n' })
        if (!outcome.isAccepted) throw new Error(outcome.reason)
        const response = approvalResponse(outcome.answer)
        expect(readAnswer('Approve', response, {})).toEqual(response)
      }
  })
})
