import { useState } from 'preact/hooks'

/**
 * What a person writes or marks where it is not sent yet, such as on a card: it stays while the card is out of sight or the page
 * is loaded again, as long as the tab is there.
 */
export function useKept<T>(key: string, first: T): [value: T, keep: (value: T) => void] {
  const name = `libero-kept:${key}`
  const [value, setValue] = useState(() => read(name, first))
  const keep = (next: T): void => {
    setValue(next)
    try {
      const text = JSON.stringify(next)
      if (text === JSON.stringify(first)) sessionStorage.removeItem(name)
      else sessionStorage.setItem(name, text)
    } catch {
      // there is no room for it
    }
  }
  return [value, keep]
}

function read<T>(name: string, first: T): T {
  const kept = sessionStorage.getItem(name)
  return kept === null ? first : (JSON.parse(kept) as T)
}
