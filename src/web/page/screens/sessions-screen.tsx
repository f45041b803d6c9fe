import { useEffect, useRef, useState } from 'preact/hooks'
import { Link } from '../frame/link.tsx'
import { usePage } from '../frame/page-context.ts'
import { useModel } from '../model/model.ts'
import { Empty } from '../parts/empty.tsx'
import { Segments } from '../parts/segments.tsx'
import { Skeleton } from '../parts/skeleton.tsx'
import { Examples } from '../sessions/examples.tsx'
import { ImportButton } from '../sessions/import-button.tsx'
import { SearchHits } from '../sessions/search-hits.tsx'
import { SessionList } from '../sessions/session-list.tsx'
import { type ListedSessions, type SessionFilter, useSessions } from '../sessions/use-sessions.ts'
import '../sessions/sessions.css'

const states = [
  ['', 'All'],
  ['working', 'Works'],
  ['waiting', 'Waits'],
  ['failed', 'Failed'],
  ['interrupted', 'Interrupted'],
  ['idle', 'Idle'],
] as const satisfies readonly (readonly [SessionFilter['state'], string])[]

/** All sessions: what needs the person first; by state, folder and tag; and a search over all that was said. */
export function SessionsScreen() {
  const [filter, setFilter] = useState<SessionFilter>({ state: '', folder: '', tag: '' })
  const [text, setText] = useState('')
  const listed = useSessions(filter)
  const known = useModel(usePage().sessions, ({ sessions }) => sessions) ?? []
  const change = (changes: Partial<SessionFilter>): void => setFilter({ ...filter, ...changes })
  const isAll = filter.state === '' && filter.folder === '' && filter.tag === ''
  const isEmpty = isAll && listed.sessions?.length === 0
  return (
    <section class="sheet">
      <div class="sheet-head">
        <h1>Sessions</h1>
        <span class="row-buttons">
          <ImportButton />
          <Link to={{ screen: 'new' }} class="button primary">
            New session
          </Link>
        </span>
      </div>
      {!isEmpty && (
        <div class="filters">
          <input
            type="search"
            placeholder="Search all that was said"
            aria-label="Search all sessions"
            value={text}
            onInput={(event) => setText(event.currentTarget.value)}
          />
          <Segments
            label="State"
            values={states}
            value={filter.state as (typeof states)[number][0]}
            onChange={(state) => change({ state })}
          />
          <Choice
            name="Folder"
            all="All folders"
            values={known.flatMap(({ folder }) => folder ?? [])}
            value={filter.folder}
            onChange={(folder) => change({ folder })}
          />
          <Choice
            name="Tag"
            all="All tags"
            values={known.flatMap(({ tags, kind }) => (kind === 'agent' ? [] : tags))}
            value={filter.tag}
            onChange={(tag) => change({ tag })}
          />
        </div>
      )}
      {text.trim() !== '' ? (
        <SearchHits text={text.trim()} />
      ) : (
        <Listed {...listed} isAll={isAll} onTag={(tag) => change({ tag })} />
      )}
    </section>
  )
}

interface ChoiceProps {
  readonly name: string
  readonly all: string
  readonly values: readonly string[]
  readonly value: string
  readonly onChange: (value: string) => void
}

/** One of the values that sessions have; not there if there are none. */
function Choice({ name, all, values, value, onChange }: ChoiceProps) {
  const different = [...new Set(value === '' ? values : [value, ...values])].sort()
  if (different.length === 0) return null
  return (
    <select aria-label={name} value={value} onChange={(event) => onChange(event.currentTarget.value)}>
      <option value="">{all}</option>
      {different.map((one) => (
        <option key={one} value={one}>
          {one}
        </option>
      ))}
    </select>
  )
}

interface ListedProps extends ListedSessions {
  readonly isAll: boolean
  readonly onTag: (tag: string) => void
}

function Listed({ sessions, hasMore, loadMore, isAll, onTag }: ListedProps) {
  if (!sessions) return <Skeleton lines={8} />
  if (sessions.length === 0 && isAll) return <Examples />
  if (sessions.length === 0)
    return (
      <Empty title="No session is like that.">
        <p>Choose another state, folder or tag above.</p>
      </Empty>
    )
  return (
    <>
      <SessionList sessions={sessions} isGrouped={isAll} onTag={onTag} />
      {hasMore && <Older key={sessions.length} onMore={loadMore} />}
    </>
  )
}

/** Reads older sessions when it comes into sight; a button for those who do not scroll. */
function Older({ onMore }: { readonly onMore: () => void }) {
  const button = useRef<HTMLButtonElement>(null)
  useEffect(() => {
    const observer = new IntersectionObserver((entries) => entries.at(-1)!.isIntersecting && onMore(), {
      rootMargin: '400px',
    })
    observer.observe(button.current!)
    return () => observer.disconnect()
  }, [])
  return (
    <button ref={button} type="button" onClick={onMore}>
      Older sessions
    </button>
  )
}
