import { memo } from 'preact/compat'
import { useState } from 'preact/hooks'
import { Link } from '../frame/link.tsx'
import { type RemoteSession, visibleName } from '../libero.ts'
import { dollars } from '../parts/numbers.ts'
import { RelativeTime } from '../parts/relative-time.tsx'
import { SessionMark } from '../parts/session-mark.tsx'
import { SessionActions } from './session-actions.tsx'

interface SessionRowProps {
  readonly session: RemoteSession
  readonly onTag: (tag: string) => void
}

/** A session in the list, with what can be done with it behind one button. */
export const SessionRow = memo(function SessionRow({ session, onTag }: SessionRowProps) {
  const { id, title, status, folder, turns, cost, updatedAt, tags } = session
  const [isOpen, setOpen] = useState(false)
  const name = visibleName(title ?? id)
  const facts = [folder && visibleName(folder), `${turns} turns`, cost > 0 && dollars(cost)]
  return (
    <li class="session-row">
      <div class="session-line">
        <Link to={{ screen: 'session', id, part: 'chat' }}>
          <SessionMark status={status} />
          <span class="one-line">{name}</span>
          <span class="facts">{facts.filter(Boolean).join(' · ')}</span>
          <RelativeTime at={updatedAt} />
        </Link>
        {tags.map((tag) => (
          <button key={tag} type="button" class="tag" title="Show sessions with this tag" onClick={() => onTag(tag)}>
            {visibleName(tag)}
          </button>
        ))}
        <button
          type="button"
          class="quiet-button"
          aria-expanded={isOpen}
          aria-label={`Actions for ${name}`}
          onClick={() => setOpen(!isOpen)}
        >
          ⋯
        </button>
      </div>
      {isOpen && <SessionActions session={session} />}
    </li>
  )
})
