import { useEffect, useMemo, useState } from 'preact/hooks'
import { PageContext } from '../frame/page-context.ts'
import { pluralize, type RemoteClient, visibleName } from '../libero.ts'
import { Cell, useModel } from '../model/model.ts'
import type { Outbox } from '../model/outbox.ts'
import type { PageModel } from '../model/page-model.ts'
import type { SessionListState } from '../model/session-list.ts'
import { useSession } from '../model/use-session.ts'
import { dollars } from '../parts/numbers.ts'
import { Skeleton } from '../parts/skeleton.tsx'
import { FindBar } from '../session/find-bar.tsx'
import { RowList } from '../session/row-list.tsx'
import {
  noFind,
  type Said,
  SessionContext,
  type SessionScreenContext,
  useSessionScreen,
} from '../session/session-context.ts'
import { TimeSlider } from '../session/time-slider.tsx'
import '../styles/session.css'
import '../styles/print.css'
import './replay.css'

interface ReplayAppProps {
  readonly client: RemoteClient
  readonly id: string
}

/** A copy of a session: its conversation at any time of its life. Nothing in it can be changed. */
export function ReplayApp({ client, id }: ReplayAppProps) {
  const page = useMemo((): PageModel => {
    const sessions = new Cell<SessionListState>({ sessions: [], hasMore: false, pending: [] })
    return { client, base: '', sessions } as { client: RemoteClient } as PageModel // rows need no more of it
  }, [client])
  return (
    <PageContext.Provider value={page}>
      <Replay id={id} />
    </PageContext.Provider>
  )
}

function Replay({ id }: Pick<ReplayAppProps, 'id'>) {
  const session = useSession(id, noOutbox)
  const context = useMemo(
    (): SessionScreenContext => ({
      ...{ session, find: new Cell(noFind) },
      opened: new Cell<ReadonlyMap<string, boolean>>(new Map()),
      thoughtFor: new Map(),
      said: new Cell<Said | undefined>(undefined),
      compose() {},
    }),
    [session],
  )
  const isLoading = useModel(session, (state) => state.isLoading)
  const [seq, setSeq] = useState(seqOfAddress)
  useEffect(() => {
    const look = (): void => setSeq(seqOfAddress())
    addEventListener('hashchange', look)
    return () => removeEventListener('hashchange', look)
  }, [])
  return (
    <SessionContext.Provider value={context}>
      <main class="session replay">
        <header class="replay-header">
          <h1>{visibleName(document.title)}</h1>
          <Facts />
        </header>
        <FindBar />
        {isLoading ? <Skeleton lines={12} /> : <RowList seq={seq} />}
        <footer class="session-foot">
          <TimeSlider />
        </footer>
      </main>
    </SessionContext.Provider>
  )
}

function Facts() {
  const { session } = useSessionScreen()
  const summary = useModel(session, (state) => state.summary)
  const usage = useModel(session, ({ view }) => view.usage)
  if (!summary) return null
  const facts = [
    new Date(summary.createdAt).toLocaleString(),
    pluralize(summary.turns, 'turn'),
    usage.cost !== undefined && dollars(usage.cost),
    'a copy of a session of Libero',
  ]
  return <p class="facts">{facts.filter(Boolean).join(' · ')}</p>
}

/** A copy sends nothing. */
const noOutbox: Outbox = { all: () => [], add() {}, remove() {} }

const seqOfAddress = (): number | undefined => Number(/^#(\d+)$/.exec(location.hash)?.[1]) || undefined
