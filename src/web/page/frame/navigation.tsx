import { Fragment } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { type RemoteSession, visibleName } from '../libero.ts'
import { useModel } from '../model/model.ts'
import { hasScreen } from '../model/page-model.ts'
import { SessionMark } from '../parts/session-mark.tsx'
import { useCloser } from '../parts/use-closer.ts'
import { Link } from './link.tsx'
import { usePage } from './page-context.ts'
import type { Route, SimpleScreen } from './router.ts'

const places: readonly (readonly [SimpleScreen, string])[] = [
  ['agents', 'Agents'],
  ['schedules', 'Schedules'],
  ['usage', 'Usage'],
  ['rules', 'Rules'],
  ['tools', 'Tools'],
  ['settings', 'Settings'],
]

/** The left column: what waits, the latest sessions, and the other screens. On a phone it is a drawer. */
export function Navigation({ route, onPalette }: { readonly route: Route; readonly onPalette: () => void }) {
  const page = usePage()
  const { sessions = [], pending } = useModel(page.sessions)
  const state = useModel(page)
  const [isOpen, setOpen] = useState(false)
  useEffect(() => setOpen(false), [route])
  useCloser(isOpen, () => setOpen(false))
  return (
    <nav class="navigation" aria-label="Libero" data-open={isOpen}>
      <header>
        <button type="button" class="menu-button" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          Menu
        </button>
        <Link to={{ screen: 'sessions' }} class="brand">
          Libero
        </Link>
        <Link to={{ screen: 'new' }} class="button" aria-label="New session">
          New
        </Link>
      </header>
      <div class="navigation-body">
        <button type="button" class="palette-button" onClick={onPalette}>
          <span>Search and go to</span>
          <kbd>Ctrl K</kbd>
        </button>
        <Link to={{ screen: 'waiting' }} class="place" {...current(route.screen === 'waiting')}>
          Waiting
          {pending.length > 0 && <span class="count">{pending.length}</span>}
        </Link>
        <Link to={{ screen: 'sessions' }} class="place" {...current(route.screen === 'sessions')}>
          Sessions
        </Link>
        <Entries sessions={sessions.filter(({ kind }) => kind !== 'agent').slice(0, 12)} route={route} />
        {places.map(
          ([screen, name]) =>
            hasScreen(state, screen) && (
              <Fragment key={screen}>
                <Link to={{ screen }} class="place" {...current(route.screen === screen)}>
                  {name}
                </Link>
                {screen === 'agents' && (
                  <Entries sessions={sessions.filter(({ kind }) => kind === 'agent').slice(0, 5)} route={route} />
                )}
              </Fragment>
            ),
        )}
      </div>
    </nav>
  )
}

const current = (isHere: boolean) => (isHere ? ({ 'aria-current': 'page' } as const) : {})

interface EntriesProps {
  readonly sessions: readonly RemoteSession[]
  readonly route: Route
}

/** Sessions or agents with their states. */
function Entries({ sessions, route }: EntriesProps) {
  return (
    <ul>
      {sessions.map(({ id, title = id, status, kind }) => (
        <li key={id}>
          <Link
            to={kind === 'agent' ? { screen: 'agent', id } : { screen: 'session', id, part: 'chat' }}
            class="session-link"
            title={visibleName(title)}
            {...current('id' in route && route.id === id)}
          >
            <SessionMark status={status} />
            <span class="one-line">{visibleName(title)}</span>
          </Link>
        </li>
      ))}
    </ul>
  )
}
