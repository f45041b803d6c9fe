import type { RemotePendingCall } from '../libero.ts'
import type { SessionList } from './session-list.ts'

/** Says outside of the page how much waits: in the title, in the icon of the tab, and by a notification if the page is hidden. */
export function showWaitingSigns(sessions: SessionList, { onOpen }: { readonly onOpen: () => void }): () => void {
  let known: ReadonlySet<string> | undefined
  let count = -1
  const look = (): void => {
    const { pending, sessions: read } = sessions.state
    if (!read) return
    const now = new Set(pending.map(keyOf))
    const added = pending.filter((call) => known && !known.has(keyOf(call)))
    known = now
    if (added.length > 0 && document.hidden) notify(added, onOpen)
    if (pending.length === count) return
    count = pending.length
    document.title = count === 0 ? 'Libero' : `(${count}) Libero`
    icon().href = count === 0 ? plainIcon : badgedIcon
    if ('setAppBadge' in navigator) void navigator.setAppBadge(count).catch(() => {})
  }
  look()
  return sessions.subscribe(look)
}

const keyOf = ({ session, callId, digest }: RemotePendingCall): string => `${session} ${callId} ${digest}`

const icon = (): HTMLLinkElement => document.querySelector<HTMLLinkElement>('link[rel=icon]')!
const plainIcon = icon().href

/** The icon with a dot. */
const badgedIcon = `data:image/svg+xml,${encodeURIComponent(
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#0b6b85"/><path d="M11 7v18h11" fill="none" stroke="#fff" stroke-width="4"/><circle cx="24" cy="8" r="8" fill="#f2c14e"/></svg>',
)}`

/** Of the calls themselves nothing is told: a notification is seen by everyone near the screen. */
function notify(added: readonly RemotePendingCall[], onOpen: () => void): void {
  if (!('Notification' in globalThis) || Notification.permission !== 'granted') return
  const [first] = added
  const words = added.length === 1 ? (first!.title ?? 'A session') : `${added.length} calls in your sessions`
  const notification = new Notification('Waiting for you', { body: words, tag: 'libero-waiting' })
  notification.onclick = () => {
    window.focus()
    onOpen()
    notification.close()
  }
}
