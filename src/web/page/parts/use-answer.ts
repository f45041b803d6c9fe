import { useEffect, useState } from 'preact/hooks'

/** An answer of the server: being read, there, or refused. `again` reads it anew and keeps the old one meanwhile. */
export interface Answer<T> {
  readonly value?: T
  /** Why it could not be read; beside a value, why that could not be read anew. */
  readonly error?: unknown
  readonly again: () => void
}

/**
 * Reads something of the server when the component is shown, and when one of the inputs changes. The first input says what is
 * read: a failure keeps the value of the same one.
 */
export function useAnswer<T>(read: () => Promise<T>, inputs: readonly unknown[]): Answer<T> {
  const [answer, setAnswer] = useState<Read<T>>({})
  const [round, setRound] = useState(0)
  useEffect(() => {
    let isCurrent = true
    const show = (next: (before: Read<T>) => Read<T>): void => {
      if (isCurrent) setAnswer(next)
    }
    const [of] = inputs
    read().then(
      (value) => show(() => ({ value, of })),
      (error: unknown) => show((before) => afterFailure(before, of, error)),
    )
    return () => {
      isCurrent = false
    }
  }, [...inputs, round])
  return { ...answer, again: () => setRound((count) => count + 1) }
}

interface Read<T> extends Omit<Answer<T>, 'again'> {
  /** The first input that the value was read with. */
  readonly of?: unknown
}

/** What is open on the screen, such as a form, stays. */
export const afterFailure = <T>(before: Read<T>, of: unknown, error: unknown): Read<T> =>
  before.of === of ? { ...before, error } : { error }
