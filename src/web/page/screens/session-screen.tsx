import { useEffect, useMemo, useState } from 'preact/hooks'
import type { ScreenProps } from '../frame/app.tsx'
import { LazyScreen } from '../frame/lazy-screen.tsx'
import { usePage } from '../frame/page-context.ts'
import type { Route } from '../frame/router.ts'
import { createDraftModel } from '../model/draft-model.ts'
import { Cell, useModel } from '../model/model.ts'
import { useSession } from '../model/use-session.ts'
import { Guard } from '../parts/guard.tsx'
import { lazy } from '../parts/lazy.tsx'
import { Skeleton } from '../parts/skeleton.tsx'
import { useCloser } from '../parts/use-closer.ts'
import { Announcer } from '../session/announcer.tsx'
import { takenApart } from '../session/attached-files.ts'
import { Composer } from '../session/composer.tsx'
import { Dock } from '../session/dock.tsx'
import { FindBar } from '../session/find-bar.tsx'
import type { GoneProps, NothingYetProps } from '../session/no-rows.tsx'
import { RowList } from '../session/row-list.tsx'
import { noFind, type Said, SessionContext, type SessionScreenContext } from '../session/session-context.ts'
import { SessionHeader } from '../session/session-header.tsx'
import { SideColumn } from '../session/side-column.tsx'
import '../styles/composer.css'
import '../styles/session.css'
import '../styles/side.css'
import '../styles/print.css'

/** A session: its conversation, its log or its files. */
export function SessionScreen({ route }: ScreenProps) {
  if (route.screen !== 'session') return null
  if (route.part === 'log') return <LazyScreen key={route.id} load={loadLog} route={route} />
  if (route.part === 'files') return <LazyScreen key={route.id} load={loadFiles} route={route} />
  return <Conversation key={route.id} route={route} />
}

const NothingYet = lazy<NothingYetProps>(async () => (await import('../session/no-rows.tsx')).NothingYet)
const Gone = lazy<GoneProps>(async () => (await import('../session/no-rows.tsx')).Gone)
const SaidLine = lazy(async () => (await import('../session/dock-lines.tsx')).SaidLine)
const loadLog = async () => (await import('./log-screen.tsx')).LogScreen
const loadFiles = async () => (await import('./files-screen.tsx')).FilesScreen

function Conversation({ route }: { readonly route: Extract<Route, { screen: 'session' }> }) {
  const { attachedTo } = usePage()
  const session = useSession(route.id)
  const draft = useDraft(route.id)
  const attached = attachedTo(route.id)
  const context = useMemo(
    (): SessionScreenContext => ({
      session,
      opened: new Cell<ReadonlyMap<string, boolean>>(new Map()),
      find: new Cell(noFind),
      draft,
      thoughtFor: new Map(),
      said: new Cell<Said | undefined>(undefined),
      compose(content) {
        const { text, attached: more } = takenApart(content)
        const before = draft.state.text.trimEnd()
        attached.set([...attached.state, ...more])
        draft.write(before === '' ? text : `${before}\n${text}`)
        document.getElementById('message')?.focus()
      },
    }),
    [session, draft],
  )
  const [isSideOpen, setSideOpen] = useState(false)
  useCloser(isSideOpen, () => setSideOpen(false))
  const isLoading = useModel(session, (state) => state.isLoading)
  const problem = useModel(session, (state) => state.problem)
  const isEmpty = useModel(
    session,
    ({ items, sending, view }) => items.length + sending.length + view.queue.length === 0,
  )
  const past = useModel(session, (state) => state.pastSeq)
  if (problem !== undefined) return <Gone problem={problem} />
  return (
    <SessionContext.Provider value={context}>
      <div class="session" data-side={isSideOpen}>
        <SessionHeader isSideOpen={isSideOpen} onSide={() => setSideOpen(!isSideOpen)} />
        <FindBar />
        {isLoading && (
          <div class="conversation-frame loading">
            <Skeleton lines={12} />
          </div>
        )}
        {!isLoading && isEmpty && <NothingYet onChoose={context.compose} />}
        {!isLoading && !isEmpty && <RowList seq={route.seq} />}
        <div class="session-foot">
          {past === undefined ? (
            <>
              <Guard what="line">
                <Dock />
              </Guard>
              <Composer draft={draft} attached={attached} />
            </>
          ) : (
            <>
              <SaidLine />
              <p class="dock-line">{`You see the session as it was after entry ${past}. Nothing is changed by looking.`}</p>
            </>
          )}
        </div>
        <Guard what="column">
          <SideColumn onClose={() => setSideOpen(false)} />
        </Guard>
        <Announcer />
      </div>
    </SessionContext.Provider>
  )
}

/** The draft of a session, kept by the server and in step with other tabs. */
function useDraft(id: string) {
  const { client, sessions } = usePage()
  const draft = useMemo(
    () =>
      createDraftModel({
        load: () => client.sessions.draft(id),
        save: (text) => client.sessions.saveDraft(id, text),
        storage: localStorage,
        key: `libero-draft:${id}`,
      }),
    [client, id],
  )
  useEffect(() => {
    void draft.start().catch(() => {})
    const hear = (): void => {
      const { state: change } = sessions.drafts
      if (!change || (change.session ?? id) !== id) return
      if (change.text === undefined) draft.read().catch(() => {})
      else draft.hear({ text: change.text, version: change.version! })
    }
    const unsubscribe = sessions.drafts.subscribe(hear)
    const flush = (): void => void draft.flush()
    document.addEventListener('visibilitychange', flush)
    return () => {
      unsubscribe()
      document.removeEventListener('visibilitychange', flush)
      void draft.stop()
    }
  }, [draft, sessions])
  return draft
}
