import type { RemotePendingCall } from '../libero.ts'

/** Shows in the icon of the tab, and in that of an installed page, how much waits. */
export function showCount(count: number): void {
  const icon = document.querySelector<HTMLLinkElement>('link[rel=icon]')!
  plainIcon ??= icon.href
  icon.href = count === 0 ? plainIcon : badgedIcon
  if ('setAppBadge' in navigator) void navigator.setAppBadge(count).catch(() => {})
}

let plainIcon: string | undefined

/** The icon with a dot. */
const badgedIcon = `data:image/svg+xml,${encodeURIComponent(
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#0b6b85"/><path d="M11 7v18h11" fill="none" stroke="#fff" stroke-width="4"/><circle cx="24" cy="8" r="8" fill="#f2c14e"/></svg>',
)}`

/** Of the calls themselves nothing is told: a notification is seen by everyone near the screen. */
export function notify(added: readonly RemotePendingCall[], onOpen: () => void): void {
  if (!('Notification' in globalThis) || Notification.permission !== 'granted') return
  const [first] = added
  const words = added.length === 1 ? (first!.title ?? 'A session') : `${added.length} calls in your sessions`
  try {
    const notification = new Notification('Waiting for you', { body: words, tag: 'libero-waiting' })
    notification.onclick = () => {
      window.focus()
      onOpen()
      notification.close()
    }
  } catch {
    // on phones only a service worker may notify
  }
}
