import { useEffect, useState } from 'preact/hooks'
import { useModel } from '../model/model.ts'
import { SessionMark } from '../parts/session-mark.tsx'
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
  const { sessions: list } = usePage()
  const { sessions = [], pending } = useModel(list)
  const [isOpen, setOpen] = useState(false)
  useEffect(() => setOpen(false), [route])
  const current = (isHere: boolean) => (isHere ? ({ 'aria-current': 'page' } as const) : {})
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
        <ul>
          {sessions.slice(0, 12).map(({ id, title, status }) => (
            <li key={id}>
              <Link
                to={{ screen: 'session', id, part: 'chat' }}
                class="session-link"
                title={title ?? id}
                {...current(route.screen === 'session' && route.id === id)}
              >
                <SessionMark status={status} />
                <span class="one-line">{title ?? id}</span>
              </Link>
            </li>
          ))}
        </ul>
        {places.map(([screen, name]) => (
          <Link key={screen} to={{ screen }} class="place" {...current(route.screen === screen)}>
            {name}
          </Link>
        ))}
      </div>
    </nav>
  )
}
