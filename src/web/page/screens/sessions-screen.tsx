import { Link } from '../frame/link.tsx'
import { usePage } from '../frame/page-context.ts'
import { useModel } from '../model/model.ts'
import { dollars } from '../parts/numbers.ts'
import { RelativeTime } from '../parts/relative-time.tsx'
import { SessionMark } from '../parts/session-mark.tsx'
import { Skeleton } from '../parts/skeleton.tsx'

/** All sessions, the last changed first. */
export function SessionsScreen() {
  const { sessions: list } = usePage()
  const { sessions, hasMore } = useModel(list)
  if (!sessions) return <Skeleton lines={8} />
  return (
    <section class="sheet">
      <h1>Sessions</h1>
      <ul class="session-list">
        {sessions.map(({ id, title, status, folder, turns, cost, updatedAt }) => (
          <li key={id}>
            <Link to={{ screen: 'session', id, part: 'chat' }}>
              <SessionMark status={status} />
              <span class="one-line">{title ?? id}</span>
              <span class="facts">
                {[folder, `${turns} turns`, cost > 0 && dollars(cost)].filter(Boolean).join(' · ')}
              </span>
              <RelativeTime at={updatedAt} />
            </Link>
          </li>
        ))}
      </ul>
      {hasMore && (
        <button type="button" onClick={() => list.loadMore()}>
          Older sessions
        </button>
      )}
    </section>
  )
}
