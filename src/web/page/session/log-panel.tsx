import { useEffect, useState } from 'preact/hooks'
import { Link } from '../frame/link.tsx'
import { usePage } from '../frame/page-context.ts'
import type { LogEntry } from '../libero.ts'
import { entryWords } from '../log/entry-words.ts'
import { useModel } from '../model/model.ts'
import { useSessionScreen } from './session-context.ts'

/** The last entries of the log, each with a link; the inspector has all of them. */
export function LogPanel() {
  const { client } = usePage()
  const { session } = useSessionScreen()
  const head = useModel(session, (state) => state.head)
  const [entries, setEntries] = useState<readonly LogEntry[]>([])
  useEffect(() => {
    let isCurrent = true
    // A busy log is not read for each of its entries.
    const timer = setTimeout(() => {
      client.sessions.entries(session.id, { limit: 60, fromEnd: true }).then(
        (read) => isCurrent && setEntries(read.entries),
        () => {},
      )
    }, 250)
    return () => {
      isCurrent = false
      clearTimeout(timer)
    }
  }, [client, session, head])
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
