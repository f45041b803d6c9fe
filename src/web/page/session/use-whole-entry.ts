import { useEffect, useState } from 'preact/hooks'
import type { LogEntry } from '../libero.ts'
import { useSessionScreen } from './session-context.ts'

/** An entry as the log has it, read when its number is given; undefined until then. */
export function useWholeEntry(seq: number | undefined): LogEntry | undefined {
  const { session } = useSessionScreen()
  const [entry, setEntry] = useState<LogEntry>()
  useEffect(() => {
    setEntry(undefined)
    if (seq === undefined) return
    let isCurrent = true
    session.entry(seq).then(
      (read) => isCurrent && setEntry(read),
      () => {}, // what is shown stays the short form, which says so
    )
    return () => {
      isCurrent = false
    }
  }, [session, seq])
  return entry
}
