import { useLayoutEffect } from 'preact/hooks'
import { focusIfLost } from './focus-if-lost.ts'

/** What Esc closes, the topmost last. */
const closers: (() => void)[] = []

/** Esc closes what was opened last, and the focus goes back to where it was. What is `lowest` comes after all else: the run that it stops. */
export function useCloser(isOpen: boolean, close: () => void, place: 'topmost' | 'lowest' = 'topmost'): void {
  useLayoutEffect(() => {
    if (!isOpen) return
    const before = document.activeElement
    closers[place === 'lowest' ? 'unshift' : 'push'](close)
    return () => {
      closers.splice(closers.indexOf(close), 1)
      // What is only hidden loses the focus with the next picture.
      if (place === 'topmost') requestAnimationFrame(() => setTimeout(() => focusIfLost(before as HTMLElement)))
    }
  }, [isOpen])
}

// A card has keys of its own; a dialog is closed by the browser; what closed something itself has prevented the rest.
globalThis.addEventListener?.('keydown', (event) => {
  if (event.key !== 'Escape' || event.defaultPrevented || event.isComposing) return
  if ((event.target as Element).closest('.card') || document.querySelector('dialog[open]')) return
  const close = closers.at(-1)
  if (!close) return
  event.preventDefault()
  close()
})
