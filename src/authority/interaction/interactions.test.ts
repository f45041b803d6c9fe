import { beforeEach, describe, expect, test } from 'vitest'
import { createIds } from '../../core/clock.ts'
import { CodedError } from '../../core/errors.ts'
import type { InteractionRequest } from '../../core/interaction.ts'
import { type FakeClock, fakeClock } from '../../testing/fake-clock.ts'
import { createInteractions, type InteractionEvent, type Interactions } from './interactions.ts'
import type { Interactor, Prompt } from './interactor-queue.ts'

const stage = { toolId: 'deploy', stageExecutionId: 's-1', argsDigest: 'd' }
const { signal } = new AbortController()
const alreadyAnswered = expect.objectContaining({ class: 'Session', code: 'InteractionAlreadyAnswered' })
const confirm = question('Confirm', { prompt: 'Sure?' })
const approve = question('Approve', { toolId: 'shell', approvalKey: 'npm test', description: 'npm test' })
const ask = question('Ask', { prompt: 'Which?' })

let clock: FakeClock
let events: InteractionEvent[]
let hub: Interactions

beforeEach(() => {
  clock = fakeClock(1_000)
  events = []
  hub = createHub()
})

describe('an answer', () => {
  test.each([
    ['a response', () => ({ status: 'accepted', value: 'blue' }), { status: 'accepted', value: 'blue' }],
    ['a promise of one', async () => ({ status: 'rejected', reason: 'no' }), { status: 'rejected', reason: 'no' }],
    ['a text', () => 'blue', { status: 'accepted', value: 'blue' }],
    ['an empty text', () => '', { status: 'accepted', value: '' }],
    ['a list', () => ['a', 'b'], { status: 'accepted', value: ['a', 'b'] }],
    ['a no to what is no yes-or-no question', () => false, { status: 'accepted', value: false }],
    ['a timeout of its own', () => ({ status: 'timeout' }), { status: 'timeout' }],
  ])('may be %s', async (_, present, expected) => {
    hub.attach({ name: 'screen', present })
    expect(await hub.interact(ask, { signal })).toEqual({ ...expected, by: 'screen', correlationId: 'q-1' })
    expect(hub.open).toEqual([])
  })

  test.each(['Approve', 'Confirm', 'grantStageTool'] as const)('of false to %s is a no', async (kind) => {
    const request = question(kind, { approvalKey: '', description: '', prompt: '', ...stage })
    const leave = hub.attach(() => false)
    expect(await hub.interact(request, { signal })).toMatchObject({ status: 'rejected', reason: 'declined' })
    leave()
    hub.attach(() => ({ status: 'accepted', value: false }))
    expect(await hub.interact(request, { signal })).toMatchObject({ status: 'rejected', reason: 'declined' })
  })

  const noClearYes = ['n', 'no', '', 'maybe', null, [], [true], {}, { approved: false }, { scope: 'ever' }, { note: 1 }]
  test.each([
    ...[1, null, {}, { status: 'ok' }, 'n', [false]],
    ...noClearYes.map((value) => ({ status: 'accepted', value })),
    ...[{ calls: ['c-1'] }, { calls: { 'c-1': 'yes' } }].map((value) => ({ status: 'accepted', value })),
  ])('that is no clear yes never becomes one: %j', async (given) => {
    hub.attach({ name: 'screen', present: () => given })
    expect(await hub.interact(approve, { signal })).toEqual({ status: 'left', correlationId: 'q-1' })
    expect(events).toContainEqual(expect.objectContaining({ type: 'InteractorFailed', by: 'screen' }))
  })

  test.each([
    { scope: 'session', expiresAt: 9_000 },
    { note: 'but only today' },
    { where: 'outside' },
    { calls: { 'c-1': 'allow', 'c-2': 'deny' } },
  ])('to an approval may say more: %j', async (value) => {
    hub.attach(() => ({ status: 'accepted', value }))
    expect(await hub.interact(approve, { signal })).toMatchObject({ status: 'accepted', value })
    expect(await hub.interact(question('grantStageTool', stage), { signal })).toMatchObject({ value })
    expect(await hub.interact(confirm, { signal })).toMatchObject({ status: 'left' })
  })

  test.each(['once', 'session', 'project'])('to an approval may be the word %s', async (scope) => {
    hub.attach(() => scope)
    expect(await hub.interact(approve, { signal })).toMatchObject({ status: 'accepted', value: { scope } })
  })

  test.each(['always', { scope: 'always' }, { where: 'everywhere' }, { scope: 'once', place: 'outside' }])(
    'S09 %j is no answer to an approval: nothing is kept for all projects',
    async (value) => {
      const screen = fakeScreen()
      const outcome = hub.interact(approve, { signal })
      const prompt = await screen.next()
      const invalid = expect.objectContaining({ class: 'Validation', code: 'InteractionAnswerInvalid' })
      expect(() => prompt.respond({ status: 'accepted', value })).toThrow(invalid)
      prompt.respond(false)
      expect(await outcome).toMatchObject({ status: 'rejected' })
    },
  )

  test('that is invalid is refused, and the question stays open', async () => {
    const screen = fakeScreen()
    const outcome = hub.interact(confirm, { signal })
    const prompt = await screen.next()
    const invalid = expect.objectContaining({ class: 'Validation', code: 'InteractionAnswerInvalid' })
    expect(() => prompt.respond('no')).toThrow(invalid)
    expect(() => hub.answer('q-1', 'n')).toThrow(invalid)
    prompt.respond(true)
    expect(await outcome).toMatchObject({ status: 'accepted', value: true })
  })

  test('may come later, and its interactor sees when and for how long it was asked', async () => {
    const screen = fakeScreen()
    const outcome = hub.interact(ask, { signal })
    const prompt = await screen.next()
    expect(prompt).toMatchObject({ ...ask, correlationId: 'q-1', issuedAt: 1_000, expiresAt: 121_000 })
    await clock.advance(5_000)
    prompt.respond('blue')
    expect(await outcome).toMatchObject({ status: 'accepted', value: 'blue' })
  })

  test('may come from elsewhere', async () => {
    const screen = fakeScreen()
    const outcome = hub.interact(approve, { signal })
    const prompt = await screen.next()
    hub.answer('q-1', true, 'phone')
    expect(await outcome).toEqual({ status: 'accepted', value: true, by: 'phone', correlationId: 'q-1' })
    expect(prompt.signal.aborted).toBe(true)
    expect(() => hub.answer('q-1', true)).toThrow(alreadyAnswered)
    expect(() => hub.answer('never', true)).toThrow(/"never" is not open/)
  })

  test('is in no event, because it may be a password', async () => {
    hub.attach(() => 'hunter2')
    await hub.interact(question('Auth.Password', { prompt: 'Password' }), { signal })
    expect(JSON.stringify(events)).not.toContain('hunter2')
    expect(events.map(({ type }) => type)).toEqual(['InteractionIssued', 'InteractionAnswered'])
  })
})

describe('several interactors', () => {
  test('B041 with two interactors the first answer wins, the other prompt is dismissed, and a late answer is an error', async () => {
    const [left, right] = [fakeScreen('left'), fakeScreen('right')]
    const outcome = hub.interact(confirm, { signal })
    const [one, other] = [await left.next(), await right.next()]
    other.respond(true)
    expect(one.signal.aborted).toBe(true)
    expect(() => one.respond(false)).toThrow(alreadyAnswered)
    expect(() => other.respond(false)).toThrow(alreadyAnswered)
    expect(await outcome).toEqual({ status: 'accepted', value: true, by: 'right', correlationId: 'q-1' })
    expect(events.at(-1)).toEqual({
      ...{ type: 'InteractionAnswered', correlationId: 'q-1', kind: 'Confirm' },
      ...{ status: 'accepted', by: 'right' },
    })
  })

  test('a late return value of a dismissed interactor is dropped', async () => {
    const slow = Promise.withResolvers<boolean>()
    hub.attach(() => slow.promise)
    hub.attach(() => true)
    expect(await hub.interact(confirm, { signal })).toMatchObject({ status: 'accepted' })
    slow.resolve(false)
    await clock.advance(0)
    expect(events.map(({ type }) => type)).toEqual(['InteractionIssued', 'InteractionAnswered'])
  })

  test('the return value of an interactor that left does not count, even if the question is still open', async () => {
    const slow = Promise.withResolvers<boolean>()
    const leave = hub.attach(() => slow.promise)
    const screen = fakeScreen('screen')
    const outcome = hub.interact(approve, { signal })
    const prompt = await screen.next()
    leave()
    slow.resolve(true)
    await clock.advance(0)
    expect(hub.open).toHaveLength(1)
    prompt.respond(false)
    expect(await outcome).toMatchObject({ status: 'rejected', by: 'screen' })
  })

  test('an interactor that is notified of an answer cannot answer again for the next question', async () => {
    const [left, right] = [fakeScreen('left'), fakeScreen('right')]
    const outcome = hub.interact(confirm, { signal })
    const [one, other] = [await left.next(), await right.next()]
    let late: unknown
    one.signal.addEventListener('abort', () => {
      try {
        other.respond(false)
      } catch (error) {
        late = error
      }
    })
    hub.answer('q-1', true)
    expect(late).toEqual(alreadyAnswered)
    expect(await outcome).toMatchObject({ status: 'accepted' })
    expect(events.map(({ type }) => type)).toEqual(['InteractionIssued', 'InteractionAnswered'])
  })

  test('B042 each interactor sees its questions one at a time and in order', async () => {
    const left = fakeScreen('left')
    const right = fakeScreen('right', ['Confirm'])
    const outcomes = [ask, confirm, approve].map((request) => hub.interact(request, { signal }))
    await clock.advance(0)
    expect([left.shown, right.shown]).toEqual([['Ask'], ['Confirm']])

    right.last.respond(true)
    left.last.respond('blue')
    await clock.advance(0)
    expect([left.shown, right.shown]).toEqual([['Ask', 'Approve'], ['Confirm']])
    left.last.respond(true)
    expect((await Promise.all(outcomes)).map(({ status }) => status)).toEqual(['accepted', 'accepted', 'accepted'])
  })

  test('receive only the kinds they take', async () => {
    const screen = fakeScreen('screen', ['Ask', 'Confirm'])
    expect(await hub.interact(approve, { signal })).toEqual({ status: 'unattended', correlationId: 'q-1' })
    expect(screen.shown).toEqual([])
  })

  test('cannot change what the others see', async () => {
    hub.attach(({ payload }) => void Object.assign(payload, { description: 'harmless' }))
    const screen = fakeScreen()
    void hub.interact(approve, { signal })
    expect((await screen.next()).payload).toEqual(approve.payload)
    expect(hub.open).toEqual([{ ...approve, correlationId: 'q-1', issuedAt: 1_000 }])
  })

  test('an interactor that attaches later gets the open questions, with the remaining time', async () => {
    fakeScreen('early')
    const outcomes = [ask, confirm].map((request) => hub.interact(request, { signal }))
    await clock.advance(20_000)
    expect(hub.open.map(({ kind }) => kind)).toEqual(['Ask', 'Confirm'])
    const late = fakeScreen('late')
    const prompt = await late.next()
    expect(prompt).toMatchObject({ kind: 'Ask', expiresAt: 121_000 })
    prompt.respond('blue')
    await clock.advance(0)
    late.last.respond(true)
    expect(await Promise.all(outcomes)).toMatchObject([{ by: 'late' }, { by: 'late' }])
  })

  test('thousands of questions with an answer at hand are no problem', async () => {
    hub.attach(() => true)
    const outcomes = Array.from({ length: 3_000 }, () =>
      hub.interact(confirm, { signal: new AbortController().signal }),
    )
    expect((await Promise.all(outcomes)).every(({ status }) => status === 'accepted')).toBe(true)
  })
})

describe('without an answer', () => {
  const minute = 60_000
  const deviceCode = question('Auth.DeviceCode', { url: 'https://x.test', code: 'AB-12', expiresAt: 301_000 })
  test.each([
    ['Approve', approve, 2 * minute],
    ['Ask', ask, 2 * minute],
    ['Select', question('Select', { prompt: '', options: ['a'] }), 2 * minute],
    ['Auth.Password', question('Auth.Password', { prompt: '' }), 2 * minute],
    ['grantStageTool', question('grantStageTool', stage), 2 * minute],
    ['trustProject', question('trustProject', { path: '/p', summary: '' }), 2 * minute],
    ['Confirm', confirm, minute],
    ['Auth.DeviceCode', deviceCode, 5 * minute],
  ])('B043 %s times out by itself, which is told', async (kind, request, limitMs) => {
    const screen = fakeScreen()
    const outcome = hub.interact(request, { signal })
    await clock.advance(limitMs - 1)
    expect(events.map(({ type }) => type)).toEqual(['InteractionIssued'])
    await clock.advance(1)
    expect(await outcome).toEqual({ status: 'timeout', correlationId: 'q-1' })
    expect(events.at(-1)).toEqual({ type: 'InteractionTimedOut', correlationId: 'q-1', kind })
    expect(screen.last.signal.aborted).toBe(true)
    expect(() => screen.last.respond(true)).toThrow(alreadyAnswered)
    expect(clock.pending).toBe(0)
  })

  test('B043 a request may have a limit of its own', async () => {
    fakeScreen()
    const outcomes = [deviceCode, confirm].map((request) => hub.interact(request, { signal, timeoutMs: 500 }))
    await clock.advance(500)
    expect(await outcomes[0]).toMatchObject({ status: 'timeout' })
    await clock.advance(499)
    expect(hub.open).toHaveLength(1)
    await clock.advance(1)
    expect(await outcomes[1]).toMatchObject({ status: 'timeout' })
  })

  test.each([0, -1, Number.NaN, Number.POSITIVE_INFINITY])(
    'every limit is finite, and %s is none',
    async (timeoutMs) => {
      await expect(hub.interact(confirm, { signal, timeoutMs })).rejects.toThrow(/timeoutMs of a question must be/)
    },
  )

  test('a time limit of months works', async () => {
    fakeScreen()
    const outcome = hub.interact(confirm, { signal, timeoutMs: 60 * 24 * 60 * minute })
    await clock.advance(60 * 24 * 60 * minute - 1)
    expect(hub.open).toHaveLength(1)
    await clock.advance(1)
    expect(await outcome).toMatchObject({ status: 'timeout' })
  })

  test('time passes only while an interactor shows the question', async () => {
    fakeScreen('left', ['Ask', 'Confirm'])
    const right = fakeScreen('right', ['Confirm'])
    const asked = hub.interact(ask, { signal })
    const confirmed = hub.interact(confirm, { signal })
    await clock.advance(40_000)
    right.leave()
    await clock.advance(79_999) // it waits behind the other question
    expect(hub.open).toHaveLength(2)
    await clock.advance(1)
    expect(await asked).toMatchObject({ status: 'timeout' })
    await clock.advance(19_999)
    expect(hub.open).toHaveLength(1)
    await clock.advance(1)
    expect(await confirmed).toMatchObject({ status: 'timeout' })
  })

  test('a question about an expired device code times out at once', async () => {
    fakeScreen()
    const outcome = hub.interact(question('Auth.DeviceCode', { ...deviceCode.payload, expiresAt: 5 }), { signal })
    await clock.advance(0)
    expect(await outcome).toMatchObject({ status: 'timeout' })
  })

  test('all interactors that could answer may leave', async () => {
    const [left, right] = [fakeScreen('left'), fakeScreen('right')]
    const outcome = hub.interact(confirm, { signal })
    const prompt = await left.next()
    left.leave()
    expect(prompt.signal.aborted).toBe(true)
    expect(() => prompt.respond(true)).toThrow(alreadyAnswered)
    expect(hub.open).toHaveLength(1)
    right.leave()
    right.leave()
    expect(await outcome).toEqual({ status: 'left', correlationId: 'q-1' })
    expect(events.at(-1)).toMatchObject({ type: 'InteractionWithdrawn', why: 'left' })
    expect(await hub.interact(confirm, { signal })).toMatchObject({ status: 'unattended' })
    expect(clock.pending).toBe(0)
  })

  test('an interactor that fails counts as having left for this question', async () => {
    let shown = 0
    hub.attach({
      name: 'broken',
      present() {
        if (++shown === 1) throw new Error('no screen')
      },
    })
    const outcome = hub.interact(confirm, { signal })
    const screen = fakeScreen('screen')
    ;(await screen.next()).respond(true)
    expect(await outcome).toMatchObject({ status: 'accepted', by: 'screen' })
    const failed = { type: 'InteractorFailed', correlationId: 'q-1', kind: 'Confirm', by: 'broken', error: 'no screen' }
    expect(events).toContainEqual(failed)
    void hub.interact(confirm, { signal })
    await clock.advance(0)
    expect(shown).toBe(2)
  })

  test('a closed dialog cancels the turn', async () => {
    const other = fakeScreen('other')
    hub.attach({ name: 'screen', present: () => Promise.reject(new DOMException('closed', 'AbortError')) })
    const outcome = hub.interact(confirm, { signal })
    await expect(outcome).rejects.toThrow(expect.objectContaining({ class: 'Cancellation', code: 'TurnCancelled' }))
    await expect(outcome).rejects.toThrow(CodedError)
    expect(other.last.signal.aborted).toBe(true)
    expect(events.at(-1)).toMatchObject({ type: 'InteractionAnswered', status: 'closed', by: 'screen' })
    expect(clock.pending).toBe(0)
  })

  test('the caller may withdraw the question', async () => {
    const screen = fakeScreen()
    const run = new AbortController()
    const outcome = hub.interact(confirm, { signal: run.signal })
    const prompt = await screen.next()
    run.abort(new Error('stopped'))
    await expect(outcome).rejects.toThrow('stopped')
    expect(prompt.signal.aborted).toBe(true)
    expect(() => prompt.respond(true)).toThrow(alreadyAnswered)
    await expect(hub.interact(confirm, { signal: run.signal })).rejects.toThrow('stopped')
    expect(events.map(({ type }) => type)).toEqual(['InteractionIssued', 'InteractionWithdrawn'])
    expect([clock.pending, hub.open]).toEqual([0, []])
  })

  test('D020 a confirmation waits: for a yes, a no, the end of its time, or a cancellation', async () => {
    const screen = fakeScreen()
    const run = new AbortController()
    const waiting = [1, 2, 3, 4].map((n) => hub.interact(n === 3 ? approve : confirm, { signal: run.signal }))
    await clock.advance(30_000)
    expect(hub.open).toHaveLength(4)
    screen.last.respond(true)
    expect(await waiting[0]).toMatchObject({ status: 'accepted', value: true })
    await clock.advance(0)
    screen.last.respond(false)
    expect(await waiting[1]).toMatchObject({ status: 'rejected' })
    await clock.advance(120_000)
    expect(await waiting[2]).toMatchObject({ status: 'timeout' })
    run.abort(new Error('cancelled'))
    await expect(waiting[3]).rejects.toThrow('cancelled')
    expect(clock.pending).toBe(0)
  })

  test('no listener stays on the signal of the caller', async () => {
    const listeners = new Set<unknown>()
    const watched = {
      throwIfAborted() {},
      addEventListener: (_: string, listener: unknown) => void listeners.add(listener),
      removeEventListener: (_: string, listener: unknown) => void listeners.delete(listener),
    } as unknown as AbortSignal
    hub.attach(() => true)
    for (let i = 0; i < 3; i++) await hub.interact(confirm, { signal: watched })
    expect(listeners.size).toBe(0)
    expect(clock.pending).toBe(0)
  })
})

describe('without an interactor', () => {
  test.each([approve, confirm, ask, question('Select', { prompt: '', options: [1] })])(
    'no question is answered by itself, and it is told what would be needed: $kind',
    async (request) => {
      expect(await hub.interact(request, { signal })).toEqual({ status: 'unattended', correlationId: 'q-1' })
      expect(events).toEqual([
        {
          ...{ type: 'HeadlessInteractionRequired', correlationId: 'q-1', kind: request.kind },
          message: {
            ...{ kind: 'permission-required', requestKind: request.kind, correlationId: 'q-1' },
            hint: expect.stringContaining(request.kind),
          },
        },
      ])
      expect([clock.pending, hub.open]).toEqual([0, []])
    },
  )

  test.each([
    ['Approve', { toolId: '', approvalKey: '', description: '' }, true],
    ['Confirm', { prompt: '' }, true],
    ['grantStageTool', stage, true],
    ['Select', { prompt: '', options: ['first', 'second'] }, 'first'],
    ['Select', { prompt: '', options: [] }, null],
    ['Ask', { prompt: '' }, ''],
    ['Auth.Password', { prompt: '' }, null],
    ['Auth.DeviceCode', { url: '', code: '', expiresAt: 9_000 }, null],
  ])('B045 yolo answers %s by itself, and tells', async (kind, payload, value) => {
    hub = createHub('yolo')
    const outcome = await hub.interact(question(kind, payload), { signal })
    expect(outcome).toEqual({ status: 'accepted', value, by: 'yolo', correlationId: 'q-1' })
    expect(events.map(({ type }) => type)).toEqual(['InteractionIssued', 'InteractionAnswered'])
  })

  test('B045 yolo never trusts a project by itself', async () => {
    hub = createHub('yolo')
    const request = question('trustProject', { path: '/p', summary: '' })
    expect(await hub.interact(request, { signal })).toEqual({ status: 'unattended', correlationId: 'q-1' })
    expect(events.map(({ type }) => type)).toEqual(['HeadlessInteractionRequired'])
  })

  test('whoAnswers tells in advance who would answer', () => {
    const yolo = createHub('yolo')
    expect([hub, yolo].map((one) => one.whoAnswers('Approve'))).toEqual(['unattended', 'yolo'])
    expect(yolo.whoAnswers('trustProject')).toBe('unattended')
    const { leave } = fakeScreen('screen', ['Confirm'])
    expect([hub.whoAnswers('Confirm'), hub.whoAnswers('Approve')]).toEqual(['person', 'unattended'])
    leave()
    expect(hub.whoAnswers('Confirm')).toBe('unattended')
  })

  test('yolo leaves the answer to an attached interactor', async () => {
    hub = createHub('yolo')
    hub.attach(() => false)
    expect(await hub.interact(approve, { signal })).toMatchObject({ status: 'rejected' })
  })
})

test('a failing listener does not block an answer', async () => {
  const failing = () => {
    throw new Error('disk full')
  }
  hub = createInteractions({ clock, newId: createIds('q'), onEvent: failing })
  hub.attach(() => true)
  expect(await hub.interact(confirm, { signal })).toMatchObject({ status: 'accepted' })
})

test('a listener may answer at once', async () => {
  const onEvent = ({ type, correlationId }: InteractionEvent) => {
    if (type === 'InteractionIssued') hub.answer(correlationId, true, 'listener')
  }
  hub = createInteractions({ clock, newId: createIds('q'), onEvent })
  const screen = fakeScreen()
  expect(await hub.interact(confirm, { signal })).toMatchObject({ status: 'accepted', by: 'listener' })
  await clock.advance(0)
  expect(screen.shown).toEqual([])
  expect(clock.pending).toBe(0)
})

test('a listener may answer for an interactor that failed', async () => {
  const onEvent = ({ type, correlationId }: InteractionEvent) => {
    events.push({ type } as InteractionEvent)
    if (type === 'InteractorFailed') hub.answer(correlationId, false, 'listener')
  }
  hub = createInteractions({ clock, newId: createIds('q'), onEvent })
  hub.attach(() => Promise.reject(new Error('no screen')))
  expect(await hub.interact(confirm, { signal })).toMatchObject({ status: 'rejected', by: 'listener' })
  await clock.advance(0)
  expect(events.map(({ type }) => type)).toEqual(['InteractionIssued', 'InteractorFailed', 'InteractionAnswered'])
})

function createHub(headless: 'halt' | 'yolo' = 'halt'): Interactions {
  return createInteractions({ clock, newId: createIds('q'), onEvent: (event) => events.push(event), headless })
}

/** An interactor that answers later. */
function fakeScreen(name?: string, kinds?: Interactor['kinds']) {
  const prompts: Prompt[] = []
  const about = { ...(name && { name }), ...(kinds && { kinds }) }
  const leave = hub.attach({ ...about, present: (prompt) => void prompts.push(prompt) })
  return {
    leave,
    get last() {
      return prompts.at(-1)!
    },
    get shown() {
      return prompts.map(({ kind }) => kind)
    },
    async next() {
      await clock.advance(0)
      return prompts.at(-1)!
    },
  }
}

function question(kind: string, payload: object): InteractionRequest {
  return { kind, payload: { ...payload, kind } }
}
