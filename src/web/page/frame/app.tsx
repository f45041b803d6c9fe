import type { ComponentType } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { useModel } from '../model/model.ts'
import type { PageModel } from '../model/page-model.ts'
import { showWaitingSigns } from '../model/waiting-signs.ts'
import { focusIfLost } from '../parts/focus-if-lost.ts'
import { lazy } from '../parts/lazy.tsx'
import { ConnectionLine } from './connection-line.tsx'
import { LazyScreen } from './lazy-screen.tsx'
import { Navigation } from './navigation.tsx'
import { listenForKeys, type Overlay, Overlays } from './overlays.tsx'
import { PageContext } from './page-context.ts'
import { navigate, type Route, useRoute } from './router.ts'

const LoginScreen = lazy<{ readonly page: PageModel }>(async () => (await import('./login-screen.tsx')).LoginScreen)

/** The whole page: navigation at the left, the screen of the address beside it. */
export function App({ page }: { readonly page: PageModel }) {
  const access = useModel(page, (state) => state.access)
  const route = useRoute(page.base)
  // The code of the screen comes while the server is asked.
  useEffect(() => void screens[route.screen]().catch(() => {}), [])
  const [open, setOpen] = useState<Overlay>()
  useFocusOfRoute(route)
  useEffect(() => listenForKeys(setOpen), [])
  useEffect(() => showWaitingSigns(page.sessions, { onOpen: () => navigate(page.base, { screen: 'waiting' }) }), [page])
  if (access === 'refused') return <LoginScreen page={page} />
  return (
    <PageContext.Provider value={page}>
      <a class="skip-link" href="#screen">
        Skip to the content
      </a>
      <div class="frame">
        <Navigation route={route} onPalette={() => setOpen('palette')} />
        <main id="screen" class="screen" tabIndex={-1}>
          <ConnectionLine />
          {access === 'granted' && <LazyScreen load={screens[route.screen]} route={route} />}
        </main>
      </div>
      <Overlays open={open} onClose={() => setOpen(undefined)} />
    </PageContext.Provider>
  )
}

/** What had the focus may go with its screen: then the next one has it, unless it chooses a place itself. */
function useFocusOfRoute(route: Route): void {
  const before = useRef(route)
  useLayoutEffect(() => {
    if (before.current !== route) focusIfLost(document.getElementById('screen'))
    before.current = route
  }, [route])
}

export interface ScreenProps {
  readonly route: Route
}

type LoadScreen = () => Promise<ComponentType<ScreenProps>>

/** The screens, each loaded when it is first shown. */
const screens: Readonly<Record<Route['screen'], LoadScreen>> = {
  sessions: async () => (await import('../screens/sessions-screen.tsx')).SessionsScreen,
  session: async () => (await import('../screens/session-screen.tsx')).SessionScreen,
  new: async () => (await import('../screens/new-session-screen.tsx')).NewSessionScreen,
  waiting: async () => (await import('../screens/waiting-screen.tsx')).WaitingScreen,
  agents: async () => (await import('../screens/agents-screen.tsx')).AgentsScreen,
  agent: async () => (await import('../screens/agent-screen.tsx')).AgentScreen,
  schedules: async () => (await import('../screens/schedules-screen.tsx')).SchedulesScreen,
  usage: async () => (await import('../screens/usage-screen.tsx')).UsageScreen,
  rules: async () => (await import('../screens/rules-screen.tsx')).RulesScreen,
  tools: async () => (await import('../screens/tools-screen.tsx')).ToolsScreen,
  settings: async () => (await import('../screens/settings-screen.tsx')).SettingsScreen,
}
