import { visibleName } from '../../../platform/visible-text.ts'
import type { Terminal } from '../terminal.ts'
import type { DialogView } from './dialog.ts'

/** Something that can be chosen with one key. */
export interface Choice<T> {
  readonly key: string
  readonly says: string
  readonly value: T
}

interface ChoicesOptions<T> {
  /** Stands above the choices while they are open. */
  readonly title: readonly string[]
  readonly choices: readonly Choice<T>[]
  /** Which one Enter takes if nothing else was done. */
  readonly initial: T
  /** What Esc stands for. */
  readonly onEscape: T
  readonly escapeSays: string
}

/** A few choices: each has its key, arrows and Enter work too. What is pasted, or comes in a run, chooses nothing. */
export function choicesView<T>(options: ChoicesOptions<T>, { paint }: Pick<Terminal, 'paint'>): DialogView<T> {
  const { title, choices, initial, onEscape, escapeSays } = options
  let at = choices.findIndex(({ value }) => value === initial)

  return {
    draw() {
      return [
        ...title,
        ...choices.map(({ key, says }, i) => {
          const text = `${i === at ? '▸' : ' '} ${key}  ${visibleName(says)}`
          return i === at ? paint.bold(paint.cyan(text)) : text
        }),
      ]
    },
    hint: () => `Esc: ${escapeSays}; a letter, or ↑ ↓ and Enter`,
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
}
