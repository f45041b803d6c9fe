import { visibleName } from '../../platform/visible-text.ts'
import { cutToWidth, wrapToWidth } from '../terminal/text-width.ts'
import { countdown, type DialogContext, type DialogView, runDialog } from './dialog.ts'

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
  /** Which of the choices is selected, if not all of them have room. */
  let hidden = ''

  const rowsOf = ({ key, label }: Choice<T>, i: number): string[] => {
    const rows = wrapToWidth(visibleName(label), Math.max(8, context.terminal.columns - 6))
    return rows.map((row, n) => (n === 0 ? `${i === at ? '▸' : ' '} ${key}  ${row}` : `     ${row.trimStart()}`))
  }

  const view: DialogView<T> = {
    draw() {
      const { rows, columns } = context.terminal
      const whole = choices.map(rowsOf)
      // A choice is read whole: what it covers stands at its end. On a small screen only the selected one is.
      const fits = title.length + whole.flat().length + 2 <= rows
      const shown = whole.map((all, i) =>
        fits || i === at || all.length === 1 ? all : [`${cutToWidth(all[0]!, columns - 3)} …`],
      )
      const painted = shown.map((texts, i) => (i === at ? texts.map((text) => paint.bold(paint.cyan(text))) : texts))
      // One row of the screen is never live, one has the hint.
      const room = rows - 2 - countdown(context).length
      const isWhole = !context.terminal.isInteractive || title.length + shown.flat().length <= room
      hidden = isWhole ? '' : `${at + 1} of ${choices.length}; `
      if (isWhole) return [...title, ...painted.flat()]
      const head = title.filter((line) => line !== '').slice(-Math.max(0, room - leastChoices))
      return [
        ...(room > leastChoices ? head : []),
        ...around(painted, at, room - (room > leastChoices ? head.length : 0)),
      ]
    },
    hint: () =>
      context.terminal.isInteractive
        ? `${hidden}Esc: ${escapeLabel}; a letter, or ↑ ↓ and Enter`
        : `a letter and Enter; Enter alone: ${visibleName(choices[at]!.label)}`,
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

/** Rows for choices on a small screen, before the title gets some. */
const leastChoices = 5

/** As many whole choices around the selected one as there is room for. */
function around(choices: readonly (readonly string[])[], at: number, room: number): string[] {
  let [from, to] = [at, at + 1]
  const height = (): number => choices.slice(from, to).flat().length
  for (let isGrowing = true; isGrowing; ) {
    const before = choices[from - 1]?.length ?? Number.POSITIVE_INFINITY
    const after = choices[to]?.length ?? Number.POSITIVE_INFINITY
    isGrowing = height() + Math.min(before, after) <= room
    if (!isGrowing) break
    if (height() + before <= room) from--
    if (height() + after <= room) to++
  }
  return choices.slice(from, to).flat()
}

/**
 * Asks for items of a list, by arrows, number or first letter. With `isMultiple` the space bar marks items. The outcome is
 * the indexes of the chosen items, `undefined` on Esc. Items must be single lines without control characters.
 */
export function chooseFromList(
  options: {
    readonly items: readonly string[]
    readonly isMultiple: boolean
    /** One line above the list. */
    readonly title?: string
    /** The index of the item that is selected at first. */
    readonly initial?: number
    /** What Enter and Esc do, for the hint. */
    readonly labels?: { readonly enter: string; readonly escape: string }
  },
  context: DialogContext,
): Promise<readonly number[] | undefined> {
  const { items, isMultiple, title, initial = 0 } = options
  const { terminal } = context
  const { paint } = terminal
  const heading = title === undefined ? [] : [paint.bold(cutToWidth(visibleName(title), terminal.columns - 1))]
  const room = (): number => Math.max(1, terminal.rows - 4 - heading.length)
  const marked = new Set<number>()
  let at = Math.min(Math.max(0, initial), Math.max(0, items.length - 1))
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
      const from = Math.min(Math.max(0, at - Math.floor(room() / 2)), Math.max(0, items.length - room()))
      const rows = items.slice(from, from + room()).map((item, i) => {
        const index = from + i
        const box = isMultiple ? `${marked.has(index) ? '[x]' : '[ ]'} ` : ''
        const text = `${index === at ? '▸' : ' '} ${box}${index + 1}. ${item}`
        return index === at ? paint.bold(paint.cyan(text)) : text
      })
      return [...heading, ...rows]
    },
    hint() {
      const more = items.length > room() ? `${at + 1} of ${items.length}; ` : ''
      const labels = options.labels ?? { enter: isMultiple ? 'done' : 'this one', escape: 'no answer' }
      if (!terminal.isInteractive && !isMultiple) return `a number and Enter; Enter alone: ${at + 1}`
      const ways = isMultiple ? 'Space: mark' : '↑ ↓, number or first letter'
      return `${more}${ways}; Enter: ${labels.enter}; Esc: ${labels.escape}`
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
