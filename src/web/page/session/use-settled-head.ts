import { useEffect, useState } from 'preact/hooks'
import { useModel } from '../model/model.ts'
import { useSessionScreen } from './session-context.ts'

/** The last entry of the log, once the log stands still: a busy one is not asked about for each of its entries. */
export function useSettledHead(): number {
  const { session } = useSessionScreen()
  const head = useModel(session, (state) => state.head)
  const [settled, setSettled] = useState(head)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(head), 400)
    return () => clearTimeout(timer)
  }, [head])
  return settled
}
