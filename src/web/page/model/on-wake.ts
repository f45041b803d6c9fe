/** A tab that was hidden for longer may have slept. */
const sleepMs = 15_000

/** Calls back when the tab or the network is there again: a connection of before may be dead without a sign. Returns what ends it. */
export function onWake(wake: () => void): () => void {
  let hiddenSince = 0
  const look = (): void => {
    if (document.hidden) hiddenSince = Date.now()
    else if (Date.now() - hiddenSince > sleepMs) wake()
  }
  document.addEventListener('visibilitychange', look)
  addEventListener('online', wake)
  return () => {
    document.removeEventListener('visibilitychange', look)
    removeEventListener('online', wake)
  }
}
