import { useState } from 'preact/hooks'
import { usePage } from '../frame/page-context.ts'
import { visibleText } from '../libero.ts'
import { wordsOf } from '../parts/use-action.ts'
import { useSessionScreen } from './session-context.ts'

/** Says which rule, mode, grant or person decided about a call, when asked. */
export function CallWhy({ callId }: { readonly callId: string }) {
  const { client } = usePage()
  const { session } = useSessionScreen()
  const [lines, setLines] = useState<readonly string[]>()
  const ask = async (): Promise<void> => {
    setLines(
      await client.sessions.why(session.id, callId).then(
        ({ lines: told }) => told,
        (error) => [wordsOf(error)],
      ),
    )
  }
  if (!lines)
    return (
      <button type="button" class="quiet" onClick={ask}>
        Why?
      </button>
    )
  return (
    <p class="call-why" role="status">
      {visibleText(lines.join('\n'))}
    </p>
  )
}
