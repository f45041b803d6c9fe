import { visibleName } from '../../../platform/visible-text.ts'
import { type DialogContext, type DialogView, runDialog } from './dialog.ts'

export interface Choice<T> {
  readonly key: string
  readonly label: string
  readonly value: T
}

interface ChoicesOptions<T> {
  /** Lines above the choices. */
  readonly title?: readonly string[]
  readonly choices: readonly Choice<T>[]
  /** Selected at first. */
  readonly initial: T
  /** The outcome of Esc. Default `initial`. */
  readonly onEscape?: T
  /** Default `no`. */
  readonly escapeLabel?: string
}

/** Asks for one of a few choices, by its key or by arrows and Enter. Pasted text, or several letters at once, choose nothing. */
export function choose<T>(options: ChoicesOptions<T>, context: DialogContext): Promise<T> {
  const { title = [], choices, initial, onEscape = initial, escapeLabel = 'no' } = options
  const { paint } = context.terminal
  let at = choices.findIndex(({ value }) => value === initial)

  const view: DialogView<T> = {
    draw: () => [
      ...title,
      ...choices.map(({ key, label }, i) => {
        const text = `${i === at ? '▸' : ' '} ${key}  ${visibleName(label)}`
        return i === at ? paint.bold(paint.cyan(text)) : text
      }),
    ],
    hint: () => `Esc: ${escapeLabel}; a letter, or ↑ ↓ and Enter`,
    press(key) {
      if (key.type === 'up') at = (at + choices.length - 1) % choices.length
      if (key.type === 'down' || key.type === 'tab') at = (at + 1) % choices.length
      if (key.type === 'enter') return { value: choices[at]!.value }
      if (key.type === 'escape' || (key.type === 'ctrl' && key.key === 'd')) return { value: onEscape }
      if (key.type !== 'text' || key.isPaste) return undefined
      const letter = key.text.toLowerCase()
      const chosen = choices.find((choice) => choice.key === letter)
      if (chosen) return { value: chosen.value }
      return letter === 'q' ? { value: onEscape } : undefined
    },
  }
  return runDialog(view, context)
}

/**
 * Asks for items of a list, by arrows, number or first letter. With `isMultiple` the space bar marks items. The outcome is
 * the indexes of the chosen items, `undefined` on Esc. Items must be single lines without control characters.
 */
export function chooseFromList(
  { items, isMultiple }: { readonly items: readonly string[]; readonly isMultiple: boolean },
  context: DialogContext,
): Promise<readonly number[] | undefined> {
  const { terminal } = context
  const { paint } = terminal
  const marked = new Set<number>()
  let at = 0
  let digits = ''

  function jump(character: string): void {
    digits = /\d/.test(character) ? numberAt(digits + character) : ''
    if (digits !== '') at = Number(digits) - 1
    else if (isMultiple && character === ' ') toggle(at)
    else at = nextWith(character)
  }
  /** After `1` the next digit `2` means 12 if there are as many items, else 2. */
  function numberAt(typed: string): string {
    const isThere = (text: string): boolean => Number(text) >= 1 && Number(text) <= items.length
    return [typed, typed.slice(-1)].find(isThere) ?? ''
  }
  function nextWith(letter: string): number {
    const isFound = (i: number): boolean => items[i]!.toLowerCase().startsWith(letter.toLowerCase())
    const order = items.map((_, i) => (at + 1 + i) % items.length)
    return order.find(isFound) ?? at
  }
  function toggle(i: number): void {
    if (!marked.delete(i)) marked.add(i)
  }

  const view: DialogView<readonly number[] | undefined> = {
    draw() {
      const room = Math.max(1, terminal.rows - 4)
      const from = Math.min(Math.max(0, at - Math.floor(room / 2)), Math.max(0, items.length - room))
      return items.slice(from, from + room).map((item, i) => {
        const index = from + i
        const box = isMultiple ? `${marked.has(index) ? '[x]' : '[ ]'} ` : ''
        const text = `${index === at ? '▸' : ' '} ${box}${index + 1}. ${item}`
        return index === at ? paint.bold(paint.cyan(text)) : text
      })
    },
    hint() {
      const more = items.length > terminal.rows - 4 ? `${at + 1} of ${items.length}; ` : ''
      const keys = isMultiple ? 'Space: mark; Enter: done' : '↑ ↓, number or first letter; Enter: this one'
      return `${more}${keys}; Esc: no answer`
    },
    press(key) {
      if (key.type === 'escape' || (key.type === 'ctrl' && key.key === 'd')) return { value: undefined }
      if (key.type === 'enter') return { value: isMultiple ? [...marked].sort((a, b) => a - b) : [at] }
      if (key.type === 'text' && !key.isPaste) for (const character of key.text) jump(character)
      else digits = ''
      if (key.type === 'up') at = (at + items.length - 1) % items.length
      if (key.type === 'down' || key.type === 'tab') at = (at + 1) % items.length
      if (key.type === 'home') at = 0
      if (key.type === 'end') at = items.length - 1
      return undefined
    },
  }
  return runDialog(view, context)
}
