import type { RemotePendingCall } from '../libero.ts'
import { changeTitle } from './page-title.ts'
import type { SessionList } from './session-list.ts'

/** Says outside of the page how much waits: in the title, in the icon of the tab, and by a notification if the page is hidden. */
export function showWaitingSigns(sessions: SessionList, { onOpen }: { readonly onOpen: () => void }): () => void {
  let known: ReadonlySet<string> | undefined
  let count = 0
  const look = (): void => {
    const { pending, sessions: read } = sessions.state
    if (!read) return
    const now = new Set(pending.map(keyOf))
    const added = pending.filter((call) => known && !known.has(keyOf(call)))
    known = now
    if (added.length > 0 && document.hidden) withBadge(({ notify }) => notify(added, onOpen))
    if (pending.length === count) return
    count = pending.length
    changeTitle({ count })
    withBadge(({ showCount }) => showCount(now.size))
  }
  look()
  return sessions.subscribe(look)
}

const keyOf = ({ session, callId, digest }: RemotePendingCall): string => `${session} ${callId} ${digest}`

type Badge = typeof import('./waiting-badge.ts')

/** Loaded when something waits. Without it the title still tells. */
const withBadge = (use: (badge: Badge) => void): void => void import('./waiting-badge.ts').then(use, () => {})
