import { useState } from 'preact/hooks'

/**
 * Text that a person writes where it is not sent yet, such as on a card: it stays while the card is out of sight or the page is
 * loaded again, as long as the tab is there.
 */
export function useKept(key: string, first = ''): [text: string, keep: (text: string) => void] {
  const name = `libero-kept:${key}`
  const [text, setText] = useState(() => sessionStorage.getItem(name) ?? first)
  const keep = (next: string): void => {
    setText(next)
    try {
      if (next === first) sessionStorage.removeItem(name)
      else sessionStorage.setItem(name, next)
    } catch {
      // there is no room for it
    }
  }
  return [text, keep]
}
