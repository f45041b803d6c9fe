import { useEffect, useState } from 'preact/hooks'

/** An answer of the server: being read, there, or refused. `again` reads it anew and keeps the old one meanwhile. */
export interface Answer<T> {
  readonly value?: T
  readonly error?: unknown
  readonly again: () => void
}

/** Reads something of the server when the component is shown, and when one of the inputs changes. */
export function useAnswer<T>(read: () => Promise<T>, inputs: readonly unknown[]): Answer<T> {
  const [answer, setAnswer] = useState<Omit<Answer<T>, 'again'>>({})
  const [round, setRound] = useState(0)
  useEffect(() => {
    let isCurrent = true
    const show = (next: Omit<Answer<T>, 'again'>): void => {
      if (isCurrent) setAnswer(next)
    }
    read().then(
      (value) => show({ value }),
      (error: unknown) => show({ error }),
    )
    return () => {
      isCurrent = false
    }
  }, [...inputs, round])
  return { ...answer, again: () => setRound((count) => count + 1) }
}
