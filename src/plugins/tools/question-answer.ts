import { isRecord } from '../../core/is-record.ts'
import type { AskUserOption } from '../../tools/ask-user.ts'

export const inputTypes = ['single-select', 'multi-select', 'text'] as const
export type QuestionInputType = (typeof inputTypes)[number]

export interface AskedQuestion {
  readonly question: string
  /** Default `single-select`. */
  readonly inputType?: QuestionInputType
  readonly options?: readonly AskUserOption[]
  /** Default true: an answer in own words is welcome too. */
  readonly allowFreeform?: boolean
}

export interface ReadAnswer {
  /** For the model. */
  readonly words: string
  /** For screens. */
  readonly value: QuestionAnswer
}

export interface QuestionAnswer {
  readonly text: string
  /** Labels of the options that were chosen. */
  readonly selected?: readonly string[]
}

/** What somebody answered: labels (alone, in a list, as `{"selected":[…], "text":"…"}`), or his own words. */
export function readAnswer(question: AskedQuestion, answer: string): ReadAnswer {
  const { inputType = 'single-select', options = [], allowFreeform = true } = question
  const text = answer.trim()
  if (text === '') return { words: `The user gave an empty answer. ${assume}`, value: { text } }
  if (inputType === 'text') return { words: `The user answered: ${text}`, value: { text } }
  const { selected, ownWords } = partsOf(text, options, inputType)
  if (inputType === 'single-select' && selected.length > 1)
    return refused(selected.join(', '), 'only one option may be chosen', options)
  if (ownWords !== '' && !allowFreeform) return refused(ownWords, 'that is none of the options', options)
  const all = [...selected, ownWords].filter((part) => part !== '').join(', ')
  return { words: inWords(selected, ownWords), value: { text: all, selected } }
}

const assume = 'Go on with the assumption that fits best, and say which one you made.'

function refused(text: string, why: string, options: readonly AskUserOption[]): ReadAnswer {
  const labels = options.map(({ label }) => label).join(', ')
  const words = `The user answered: ${text}. But ${why} (${labels}); ask again, or offer what was meant.`
  return { words, value: { text } }
}

function inWords(selected: readonly string[], ownWords: string): string {
  if (selected.length === 0)
    return ownWords === '' ? 'The user chose none of the options.' : `The user answered in his own words: ${ownWords}`
  const more = ownWords === '' ? '' : `\nand said: ${ownWords}`
  return `The user chose: ${selected.join(', ')}${more}`
}

interface Parts {
  readonly selected: readonly string[]
  readonly ownWords: string
}

function partsOf(text: string, options: readonly AskUserOption[], inputType: QuestionInputType): Parts {
  const labelOf = (piece: string): string | undefined =>
    options.find(({ label }) => plain(label) === plain(piece))?.label
  const given = jsonOf(text)
  const list = isRecord(given) ? given.selected : given
  if (isTexts(list)) {
    const said = isRecord(given) && typeof given.text === 'string' ? given.text.trim() : ''
    const unknown = list.filter((piece) => labelOf(piece) === undefined)
    return { selected: known(list), ownWords: [...unknown, said].filter((part) => part !== '').join(', ') }
  }
  const pieces = inputType === 'multi-select' ? text.split(/[,;\n]/).filter((piece) => piece.trim() !== '') : []
  if (labelOf(text) !== undefined) return { selected: known([text]), ownWords: '' }
  if (pieces.length > 0 && pieces.every(labelOf)) return { selected: known(pieces), ownWords: '' }
  return { selected: [], ownWords: text }

  /** As they were offered, each once. */
  function known(chosen: readonly string[]): string[] {
    return [...new Set(chosen.map(labelOf).filter((label) => label !== undefined))]
  }
}

const plain = (text: string): string => text.trim().toLowerCase()

function jsonOf(text: string): unknown {
  if (!/^[{[]/.test(text)) return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined // somebody's own words may begin with a bracket
  }
}

const isTexts = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((item) => typeof item === 'string')
