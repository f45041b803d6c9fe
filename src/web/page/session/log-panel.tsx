import { Link } from '../frame/link.tsx'
import { usePage } from '../frame/page-context.ts'
import { entryWords } from '../log/entry-words.ts'
import { useAnswer } from '../parts/use-answer.ts'
import { useSessionScreen } from './session-context.ts'
import { useSettledHead } from './use-settled-head.ts'

/** The last entries of the log, each with a link; the inspector has all of them. */
export function LogPanel() {
  const { client } = usePage()
  const { session } = useSessionScreen()
  const head = useSettledHead()
  const read = useAnswer(() => client.sessions.entries(session.id, { limit: 60, fromEnd: true }), [session.id, head])
  const entries = read.value?.entries ?? []
  return (
    <>
      <ol class="log-list" reversed>
        {entries.toReversed().map((entry) => (
          <li key={entry.seq}>
            <Link to={{ screen: 'session', id: session.id, part: 'log', seq: entry.seq }}>
              <span class="facts">{entry.seq}</span>
              <span class="one-line">{entryWords(entry)}</span>
            </Link>
          </li>
        ))}
      </ol>
      <p>
        <Link to={{ screen: 'session', id: session.id, part: 'log' }}>Inspect the whole log</Link>
      </p>
    </>
  )
}
