import type { Clock } from '../../core/clock.ts'
import type { Key } from '../input/key-decoder.ts'
import type { KeyRouter } from '../input/key-router.ts'
import type { Keyboard } from '../input/keyboard.ts'
import { createFrames, unrefClock } from '../terminal/frames.ts'
import type { Paint } from '../terminal/paint.ts'
import { alternateOff, alternateOn, begin, end, hideCursor, noWrap, showCursor, wrap } from '../terminal/sequences.ts'
import { cutToWidth } from '../terminal/text-width.ts'

/** What fills the screen while a viewer is open. */
export interface View<T = void> {
  /** The rows of the screen from its top, painted and free of foreign sequences. Rows that are missing are blank. */
  draw(size: ViewSize): readonly string[]
  /** A returned value closes the viewer. */
  press(key: Key): { readonly value: T } | undefined
  /** Calls the listener when there is something new to draw. Returns a function that stops it. */
  subscribe?(changed: () => void): () => void
}

export interface ViewSize {
  readonly columns: number
  readonly rows: number
}

/** The terminal of a viewer. */
export interface ViewerTerminal extends ViewSize {
  readonly paint: Paint
  /** Writes sequences as they are. */
  write(sequences: string): void
  /** Calls the listener after each resize. Returns a function that stops it. */
  onResize(listener: () => void): () => void
}

export interface ViewerContext {
  readonly terminal: ViewerTerminal
  /** What was typed behind the key that closes the viewer is for the reader below it. */
  readonly keyboard: Pick<Keyboard, 'read'> & Partial<Pick<KeyRouter, 'pass'>>
  /** Closes the viewer. */
  readonly signal?: AbortSignal
  readonly clock?: Clock
  /** What the person should know while the viewer is open, in the last row. */
  note?(): string | undefined
  /** Calls the listener when `note` may have changed. Returns a function that stops it. */
  onChange?(listener: () => void): () => void
}

/**
 * Shows a view on the alternate screen until a key closes it. Resolves with its value; with `undefined` on Ctrl-C and when
 * `signal` aborts. Only rows that changed are written, in one synchronized write. The terminal is left as it was, also if
 * the view throws.
 */
export async function runViewer<T>(view: View<T>, context: ViewerContext): Promise<T | undefined> {
  const { terminal, keyboard, signal, clock = unrefClock } = context
  if (signal?.aborted) return undefined
  const { promise, resolve, reject } = Promise.withResolvers<T | undefined>()
  /** As they are on the screen; empty if that is not known. */
  let shown: readonly string[] = []
  let isOpen = true

  const draw = (): void => {
    if (!isOpen) return // a view may have been reading something when it was closed
    const { columns, rows } = terminal
    const drawn = view.draw({ columns: columns - 1, rows })
    const note = context.note?.()
    const lineAt = (i: number): string =>
      note !== undefined && i === rows - 1 ? terminal.paint.yellow(note) : (drawn[i] ?? '')
    const next = Array.from({ length: rows }, (_, i) => cutToWidth(lineAt(i), columns - 1))
    const changed = next.map((row, i) => (row === shown[i] ? '' : `\x1b[${i + 1};1H${row}\x1b[0m\x1b[K`)).join('')
    shown = next
    if (changed !== '') terminal.write(`${begin}${noWrap}${changed}${wrap}${end}`)
  }
  /** Ends the viewer if the work fails. */
  const guarded = (work: () => void): void => {
    try {
      work()
    } catch (error) {
      reject(error)
    }
  }
  const frames = createFrames({ draw: () => guarded(draw), isAnimated: () => false, clock })
  const onKey = (key: Key): void =>
    guarded(() => {
      if (key.type === 'ctrl' && key.key === 'c') return resolve(undefined)
      const keys = singleKeys(key)
      for (const [at, one] of keys.entries()) {
        const outcome = view.press(one)
        if (!outcome) continue
        release()
        resolve(outcome.value)
        for (const later of keys.slice(at + 1)) keyboard.pass?.(later)
        return
      }
      draw()
    })
  const onResize = (): void => {
    shown = []
    guarded(draw)
  }
  const onAbort = (): void => resolve(undefined)

  terminal.write(`${alternateOn}${hideCursor}`)
  const release = keyboard.read(onKey)
  const stops = [
    release,
    terminal.onResize(onResize),
    view.subscribe?.(frames.changed),
    context.onChange?.(frames.changed),
  ]
  signal?.addEventListener('abort', onAbort)
  guarded(draw)
  try {
    return await promise
  } finally {
    isOpen = false
    signal?.removeEventListener('abort', onAbort)
    frames.stop()
    for (const stop of stops) stop?.()
    terminal.write(`${showCursor}${alternateOff}`)
  }
}

/** The letters that a slow connection, or a busy machine, brings together. */
const singleKeys = (key: Key): readonly Key[] =>
  key.type === 'text' && !key.isPaste ? Array.from(key.text, (text) => ({ ...key, text })) : [key]
