import { Link } from '../frame/link.tsx'
import { pluralize, type RemoteSession, visibleName } from '../libero.ts'
import { dollars } from '../parts/numbers.ts'
import { memo } from '../parts/react.ts'
import { RelativeTime } from '../parts/relative-time.tsx'
import { SessionMark } from '../parts/session-mark.tsx'
import { shortFolder } from '../parts/short-folder.ts'
import { SessionActions } from './session-actions.tsx'

interface SessionRowProps {
  readonly session: RemoteSession
  readonly isOpen: boolean
  readonly onOpen: (id: string | undefined) => void
  readonly onTag: (tag: string) => void
}

/** A session in the list, with what can be done with it behind one button. */
export const SessionRow = memo(function SessionRow({ session, isOpen, onOpen, onTag }: SessionRowProps) {
  const { id, title, status, folder, turns, cost, updatedAt, tags, kind } = session
  const isAgent = kind === 'agent'
  const name = visibleName(title ?? id)
  const facts = [isAgent && 'agent', pluralize(turns, 'turn'), cost > 0 && dollars(cost), folder && shortFolder(folder)]
  return (
    <div class="session-row">
      <div class="session-line">
        <Link to={isAgent ? { screen: 'agent', id } : { screen: 'session', id, part: 'chat' }}>
          <SessionMark status={status} />
          <span class="one-line">{name}</span>
        </Link>
        {(isAgent ? [] : tags).map((tag) => (
          <button key={tag} type="button" class="tag" title="Show sessions with this tag" onClick={() => onTag(tag)}>
            {visibleName(tag)}
          </button>
        ))}
        <span class="facts one-line" title={folder}>
          {facts.filter(Boolean).join(' · ')}
        </span>
        <RelativeTime at={updatedAt} />
        <button
          type="button"
          class="quiet"
          aria-expanded={isOpen}
          aria-label={`Actions for ${name}`}
          onClick={() => onOpen(isOpen ? undefined : id)}
        >
          ⋯
        </button>
      </div>
      {isOpen && <SessionActions session={session} />}
    </div>
  )
})
