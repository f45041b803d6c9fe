import { describe, expect, test } from 'vitest'
import { type AskedQuestion, readAnswer } from './ask-question.ts'

const options = [{ label: 'red' }, { label: 'Dark Blue' }, { label: 'a, b' }]
const one: AskedQuestion = { question: 'Which?', options }
const many: AskedQuestion = { ...one, inputType: 'multi-select' }

describe('an answer', () => {
  test.each<[AskedQuestion, string, string, readonly string[] | undefined]>([
    [one, 'red', 'The user chose: red', ['red']],
    [one, ' DARK blue\n', 'The user chose: Dark Blue', ['Dark Blue']],
    [one, '{"selected":["red"]}', 'The user chose: red', ['red']],
    [one, '["red"]', 'The user chose: red', ['red']],
    [one, 'a, b', 'The user chose: a, b', ['a, b']],
    [one, 'green, please', 'The user answered in free text: green, please', []],
    [one, '{"selected":["green"]}', 'The user answered in free text: green', []],
    [one, '{"selected":["red"],"text":"but light"}', 'The user chose: red\nand said: but light', ['red']],
    [one, '{not json}', 'The user answered in free text: {not json}', []],
    [one, '{"selected":[1]}', 'The user answered in free text: {"selected":[1]}', []],
    [many, 'red; dark blue, red', 'The user chose: red, Dark Blue', ['red', 'Dark Blue']],
    [many, 'red, green', 'The user answered in free text: red, green', []],
    [many, '{"selected":["red","Dark Blue"]}', 'The user chose: red, Dark Blue', ['red', 'Dark Blue']],
    [many, '{"selected":[]}', 'The user chose none of the options.', []],
    [{ ...one, inputType: 'text' }, 'red', 'The user answered: red', undefined],
  ])('%j answered with %j reads: %s', (question, answer, output, selected) => {
    const read = readAnswer(question, answer)
    expect(read.output).toBe(output)
    expect(read.value.selected).toEqual(selected)
  })

  test('that fits no option is refused if free text is not allowed', () => {
    const strict = { ...one, allowFreeform: false }
    const none =
      'The user answered: green. But that is none of the options (red, Dark Blue, a, b); ask again, or offer what was meant.'
    for (const answer of ['green', '{"selected":["green"]}', '{"selected":["red"],"text":"green"}'])
      expect(readAnswer(strict, answer)).toEqual({ output: none, value: { text: 'green' } })
    expect(readAnswer(strict, 'red').output).toBe('The user chose: red')
  })

  test('with several options to a single-select question is refused', () => {
    const { output, value } = readAnswer(one, '{"selected":["red","Dark Blue"]}')
    expect(output).toContain('The user answered: red, Dark Blue. But only one option may be chosen')
    expect(value).toEqual({ text: 'red, Dark Blue' })
  })

  test('that is empty tells the model to assume', () => {
    expect(readAnswer(one, ' \n').output).toMatch(/^The user gave an empty answer\. Go on with the assumption/)
  })
})
