import type { PendingCardsProps } from '../cards/pending-cards.tsx'
import { usePage } from '../frame/page-context.ts'
import { useModel } from '../model/model.ts'
import { lazy } from '../parts/lazy.tsx'
import { useSessionScreen } from './session-context.ts'
import { useIsNarrow } from './use-is-narrow.ts'

const DockLines = lazy(async () => (await import('./dock-lines.tsx')).DockLines)
const PendingCards = lazy<PendingCardsProps>(async () => (await import('../cards/pending-cards.tsx')).PendingCards)

/** What stands between the conversation and the message field: lines about what goes on, and what waits for the person. */
export function Dock() {
  const { sessions } = usePage()
  const { session, said } = useSessionScreen()
  const isSaid = useModel(said, (now) => now !== undefined)
  const isBusy = useModel(
    session,
    ({ view: { run, retry, todos, jobs }, summary }) =>
      run !== undefined || retry !== undefined || todos.length + jobs.length > 0 || isStuck(summary?.status),
  )
  const isListedStuck = useModel(sessions, (all) => isStuck(all.sessions?.find(({ id }) => id === session.id)?.status))
  return (
    <div class="dock">
      {(isSaid || isBusy || isListedStuck) && <DockLines />}
      <PinnedCards />
    </div>
  )
}

const isStuck = (status: string | undefined): boolean => status === 'parked' || status === 'interrupted'

/** On a phone a decision is pinned above the keyboard. */
function PinnedCards() {
  const { sessions } = usePage()
  const { session } = useSessionScreen()
  const isNarrow = useIsNarrow()
  const pending = useModel(sessions, (all) => all.pending)
  const own = pending.filter((call) => call.root === session.id || call.session === session.id)
  if (!isNarrow || own.length === 0) return null
  return (
    <div class="pinned-cards">
      <PendingCards calls={own} />
    </div>
  )
}
