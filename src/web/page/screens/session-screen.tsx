import { useEffect, useMemo, useState } from 'preact/hooks'
import type { ScreenProps } from '../frame/app.tsx'
import { LazyScreen } from '../frame/lazy-screen.tsx'
import { usePage } from '../frame/page-context.ts'
import type { Route } from '../frame/router.ts'
import { RemoteProblem } from '../libero.ts'
import { createDraftModel } from '../model/draft-model.ts'
import { createFindModel } from '../model/find-model.ts'
import { Cell, useModel } from '../model/model.ts'
import { useSession } from '../model/use-session.ts'
import { Empty } from '../parts/empty.tsx'
import { Failure } from '../parts/failure.tsx'
import { Skeleton } from '../parts/skeleton.tsx'
import { Announcer } from '../session/announcer.tsx'
import { takenApart } from '../session/attached-files.ts'
import { Composer } from '../session/composer.tsx'
import { Dock } from '../session/dock.tsx'
import { FindBar } from '../session/find-bar.tsx'
import { RowList } from '../session/row-list.tsx'
import { type Said, SessionContext, type SessionScreenContext } from '../session/session-context.ts'
import { SessionHeader } from '../session/session-header.tsx'
import { SideColumn } from '../session/side-column.tsx'
import '../styles/composer.css' // before the next one, which changes it on narrow pages
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
      find: createFindModel(session),
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
              <Dock />
              <Composer draft={draft} attached={attached} />
            </>
          ) : (
            <p class="dock-line">{`You see the session as it was after entry ${past}. Nothing is changed by looking.`}</p>
          )}
        </div>
        <SideColumn onClose={() => setSideOpen(false)} />
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
      if (change?.session !== id) return
      if (change.text === undefined) void client.sessions.draft(id).then(draft.hear, () => {})
      else draft.hear({ text: change.text, version: change.version })
    }
    const unsubscribe = sessions.drafts.subscribe(hear)
    const flush = (): void => void draft.flush()
    document.addEventListener('visibilitychange', flush)
    return () => {
      unsubscribe()
      document.removeEventListener('visibilitychange', flush)
      flush()
    }
  }, [draft, sessions])
  return draft
}

const examples = [
  'Explain what this project does, and where to begin reading.',
  'Run the tests and fix what fails.',
  'Find what is slow in src, and measure before you change it.',
]

function NothingYet({ onChoose }: { readonly onChoose: (text: string) => void }) {
  return (
    <div class="conversation-frame nothing-yet">
      <Empty title="Nothing was said yet.">
        <p>Write what is to be done. For example:</p>
        <ul>
          {examples.map((example) => (
            <li key={example}>
              <button type="button" class="example" onClick={() => onChoose(example)}>
                {example}
              </button>
            </li>
          ))}
        </ul>
      </Empty>
    </div>
  )
}

function Gone({ problem }: { readonly problem: unknown }) {
  const isMissing = problem instanceof RemoteProblem && problem.status === 404
  return (
    <section class="sheet">
      <h1>{isMissing ? 'There is no such session' : 'This session cannot be shown'}</h1>
      <Failure error={problem} todo="Go back to the list of sessions, or reload the page." />
    </section>
  )
}
