import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type AskedQuestion, readAnswer } from '../plugins/tools/ask-question.ts'
import { expireCard, withdrawCard } from './card-status.ts'
import {
  type QuestionCard,
  questionOfPending,
  questionOfPrompt,
  questionPendingAnswer,
  questionResponse,
  submitQuestion,
  toggleOption,
  writeAnswer,
} from './question-card.ts'

const options = [{ label: 'Red', description: 'warm' }, { label: 'Green' }, { label: 'Blue' }]

const asked = (input: Partial<AskedQuestion> = {}): QuestionCard =>
  questionOfPending({ callId: 'c', name: 'ask-question', input: { question: 'Which?', options, ...input } })

function submitted(card: QuestionCard): QuestionCard {
  const outcome = submitQuestion(card)
  if (!outcome.isAccepted) throw new Error(outcome.reason)
  return outcome.card
}

describe('the content of a card', () => {
  test('of a call that waits', () => {
    expect(asked()).toEqual({
      id: 'c',
      status: 'open',
      isDisabled: false,
      question: 'Which?',
      inputType: 'single-select',
      options,
      allowFreeform: true,
      selected: [],
      text: '',
      canSubmit: false,
      tool: 'ask-question',
    })
    expect(asked({ options: [] }).inputType).toBe('text')
    expect(asked({ inputType: 'text' })).toMatchObject({ inputType: 'text', options: [] })
  })

  test('of a live prompt', () => {
    const payload = { kind: 'Select', prompt: 'Which?', options: ['Red', { label: 'Blue' }, 3], multiSelect: true }
    expect(questionOfPrompt({ correlationId: 'q', payload, expiresAt: 9 })).toMatchObject({
      id: 'q',
      question: 'Which?',
      inputType: 'multi-select',
      options: [{ label: 'Red' }, { label: 'Blue' }],
      expiresAt: 9,
    })
    expect(questionOfPrompt({ correlationId: 'q', payload: { kind: 'Ask', prompt: 'Why?' } }).inputType).toBe('text')
  })
})

describe('choosing', () => {
  test('one: it replaces the previous one; choosing it again deselects it', () => {
    const green = toggleOption(toggleOption(asked(), 0), 1)
    expect(green).toMatchObject({ selected: [1], canSubmit: true })
    expect(toggleOption(green, 1)).toMatchObject({ selected: [], canSubmit: false })
  })

  test('several, in the order of the options', () => {
    const card = [2, 0, 1, 1].reduce(toggleOption, asked({ inputType: 'multi-select' }))
    expect(card.selected).toEqual([0, 2])
    expect(submitted(card).answer).toEqual({ selected: ['Red', 'Blue'] })
  })

  test('or writing: replaces a single choice, is added to several', () => {
    const single = writeAnswer(toggleOption(asked(), 0), 'pink')
    expect(single).toMatchObject({ selected: [], text: 'pink', canSubmit: true })
    expect(toggleOption(single, 0)).toMatchObject({ selected: [0], text: '' })
    const multi = writeAnswer(toggleOption(asked({ inputType: 'multi-select' }), 0), ' pink ')
    expect(submitted(multi).answer).toEqual({ selected: ['Red'], text: 'pink' })
  })

  test('an option that is not offered changes nothing', () => {
    const card = asked({ allowFreeform: false })
    expect(toggleOption(card, 7)).toBe(card)
    expect(writeAnswer(card, 'pink')).toBe(card)
    expect(submitQuestion(card)).toEqual({
      isAccepted: false,
      card,
      reason: 'There is nothing to send yet; choose an option.',
    })
    expect(submitQuestion(writeAnswer(asked({ inputType: 'text' }), ' \n '))).toMatchObject({
      reason: 'There is nothing to send yet; write an answer.',
    })
  })
})

describe('D044 a question', () => {
  test('D044 is answered once, and closed after that', () => {
    const card = submitted(toggleOption(asked(), 1))
    expect(card).toMatchObject({ status: 'answered', isDisabled: true, canSubmit: false, selected: [1] })
    expect(toggleOption(card, 0)).toBe(card)
    expect(writeAnswer(card, 'x')).toBe(card)
    expect(submitQuestion(card)).toEqual({
      isAccepted: false,
      card,
      reason: 'This was answered already; the first answer counts.',
    })
  })

  test('D044 that expired or was withdrawn accepts no answer', () => {
    const chosen = toggleOption(asked(), 1)
    for (const card of [expireCard(chosen), withdrawCard(chosen)]) {
      expect(submitQuestion(card)).toMatchObject({ isAccepted: false })
      expect(toggleOption(card, 0)).toBe(card)
      expect([questionPendingAnswer(card), questionResponse(card)]).toEqual([undefined, undefined])
    }
  })
})

describe('the answer', () => {
  test('as ask-question reads it', () => {
    const card = submitted(writeAnswer([0, 2].reduce(toggleOption, asked({ inputType: 'multi-select' })), 'and pink'))
    expect(questionPendingAnswer(card)).toEqual({ content: '{"selected":["Red","Blue"],"text":"and pink"}' })
    expect(questionPendingAnswer(submitted(writeAnswer(asked({ inputType: 'text' }), '{"a"')))).toEqual({
      content: '{"a"',
    })
  })

  test('is understood by ask-question, whatever was chosen and written', () => {
    const words = fc.oneof(fc.string(), fc.constantFrom('red', '["Red"]', '{"selected":["Red"]}', 'Red, Blue'))
    const inputType = fc.constantFrom('single-select' as const, 'multi-select' as const, 'text' as const)
    fc.assert(
      fc.property(inputType, fc.array(fc.nat(2), { maxLength: 4 }), words, (type, toggles, text) => {
        const question = { question: 'Which?', options, inputType: type }
        const card = writeAnswer(toggles.reduce(toggleOption, asked(question)), text)
        const outcome = submitQuestion(card)
        if (!outcome.isAccepted) return
        const { selected, text: own = '' } = outcome.answer
        const content = questionPendingAnswer(outcome.card)?.content as string
        const { value } = readAnswer(question, content)
        expect(value.selected ?? []).toEqual(selected)
        if (own !== '') expect(value.text).toContain(own)
      }),
    )
  })

  test('as ask_user reads it, and as an interactor returns it', () => {
    const payload = { prompt: 'Which?', options, multiSelect: true }
    const live = submitted([0, 2].reduce(toggleOption, questionOfPrompt({ correlationId: 'q', payload })))
    expect(questionResponse(live)).toEqual({ status: 'accepted', value: ['Red', 'Blue'] })
    expect(questionResponse(submitted(toggleOption(asked(), 1)))).toEqual({ status: 'accepted', value: 'Green' })
    const call = { callId: 'c', name: 'ask_user', input: { question: 'Which?', options, multiSelect: true } }
    const waiting = submitted([0, 2].reduce(toggleOption, questionOfPending(call)))
    expect(questionPendingAnswer(waiting)).toEqual({ content: 'Red, Blue' })
  })
})
