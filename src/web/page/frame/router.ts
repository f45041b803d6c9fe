import { useEffect, useState } from 'preact/hooks'

/** Where the person is. Every place has an address that can be kept and sent. */
export type Route =
  | { readonly screen: 'sessions' }
  | { readonly screen: 'session'; readonly id: string; readonly part: SessionPart; readonly seq?: number }
  | { readonly screen: 'agent'; readonly id: string }
  | { readonly screen: SimpleScreen }

export type SessionPart = 'chat' | 'log' | 'files'
export type SimpleScreen = (typeof simpleScreens)[number]

const simpleScreens = ['new', 'waiting', 'agents', 'schedules', 'usage', 'rules', 'tools', 'settings'] as const

/** The route of an address below the base path. An unknown one is the list of sessions. */
export function routeOf(path: string, hash = ''): Route {
  const [first = '', id, part] = path.split('/').filter(Boolean).map(decode)
  if (first === 's' && id !== undefined) {
    const [, seq] = /^#(\d+)$/.exec(hash) ?? []
    const known = part === 'log' || part === 'files' ? part : 'chat'
    return { screen: 'session', id, part: known, ...(seq !== undefined && { seq: Number(seq) }) }
  }
  if (first === 'agents' && id !== undefined) return { screen: 'agent', id }
  const simple = simpleScreens.find((screen) => screen === first)
  return { screen: simple ?? 'sessions' }
}

/** The path of a route, below the base path. */
export function pathOf(route: Route): string {
  if (route.screen === 'session') {
    const part = route.part === 'chat' ? '' : `/${route.part}`
    return `/s/${encodeURIComponent(route.id)}${part}${route.seq === undefined ? '' : `#${route.seq}`}`
  }
  if (route.screen === 'agent') return `/agents/${encodeURIComponent(route.id)}`
  return route.screen === 'sessions' ? '/' : `/${route.screen}`
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

/** Goes to a route without loading the page again. */
export function navigate(base: string, route: Route, { replaces = false } = {}): void {
  history[replaces ? 'replaceState' : 'pushState'](null, '', base + pathOf(route))
  dispatchEvent(new PopStateEvent('popstate'))
}

/** The route of the page's address. */
export function useRoute(base: string): Route {
  const read = (): Route => routeOf(location.pathname.slice(base.length), location.hash)
  const [route, setRoute] = useState(read)
  useEffect(() => {
    const change = (): void => setRoute(read())
    addEventListener('popstate', change)
    addEventListener('hashchange', change)
    return () => {
      removeEventListener('popstate', change)
      removeEventListener('hashchange', change)
    }
  }, [base])
  return route
}
