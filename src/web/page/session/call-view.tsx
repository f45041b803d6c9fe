import type { PendingCardProps } from '../cards/pending-card.tsx'
import { usePage } from '../frame/page-context.ts'
import { type CallRow, type RemotePendingCall, visibleText } from '../libero.ts'
import { useModel } from '../model/model.ts'
import { lazy } from '../parts/lazy.tsx'
import { CallLine, durationOf, markOf, whatOf } from './call-line.tsx'
import { useOpened, useSessionScreen } from './session-context.ts'
import { useIsNarrow } from './use-is-narrow.ts'

const PendingCard = lazy<PendingCardProps>(async () => (await import('../cards/pending-card.tsx')).PendingCard)
const CallDetails = lazy<{ readonly row: CallRow }>(async () => (await import('./call-details.tsx')).CallDetails)
const Children = lazy<{ readonly callId: string }>(async () => (await import('./children.tsx')).Children)

/** A tool call: one line, and below it what waits, what went wrong, or all of it. */
export function CallView({ row }: { readonly row: CallRow }) {
  const { session } = useSessionScreen()
  const folder = useModel(session, ({ summary }) => summary?.folder ?? '')
  const [isOpen, toggle] = useOpened(row.id)
  const end = row.result && session.endOf(row.result)
  const waits = usePendingOf(row)
  const isNarrow = useIsNarrow()
  const hasChildren = useModel(session, ({ view }) => view.children.some(({ callId }) => callId === row.id))
  const progress = row.state === 'running' ? lastLine(row.live?.progress) : ''
  return (
    <div class="call" data-state={row.state}>
      {(isNarrow || waits.length === 0) && (
        <CallLine
          mark={markOf(row, end)}
          name={row.name}
          what={whatOf(row, folder)}
          facts={[end?.summary ?? wordsOf(row), durationOf(row)]}
          isOpen={isOpen}
          onToggle={toggle}
        />
      )}
      {/* On a phone it is pinned above the keyboard instead. */}
      {!isNarrow && waits.map((call) => <PendingCard key={`${call.session}/${call.callId}`} call={call} />)}
      {progress !== '' && <p class="call-progress one-line">{visibleText(progress)}</p>}
      {!isOpen &&
        end?.problem.map((line, i) => (
          <p key={i} class="call-problem">
            {line}
          </p>
        ))}
      {isOpen && <CallDetails row={row} />}
      {hasChildren && <Children callId={row.id} />}
    </div>
  )
}

function wordsOf({ state, live }: CallRow): string | undefined {
  if (state === 'waiting') return 'waits for you'
  if (state === 'streaming' && (live?.args?.length ?? 0) > 200) return 'is being written'
  return undefined
}

const lastLine = (text = ''): string => text.trimEnd().split('\n').at(-1)!.slice(0, 300)

/** The questions to the person about a call, or about one that its sub-agent made. */
function usePendingOf({ id, state }: CallRow): readonly RemotePendingCall[] {
  const { sessions } = usePage()
  const { session } = useSessionScreen()
  const pending = useModel(sessions, (all) => all.pending)
  const children = useModel(session, ({ view }) => view.children)
  if (state === 'over') return []
  return pending.filter(({ session: of, root, callId }) => {
    if (of === session.id) return callId === id || callId.startsWith(`${id}.`)
    return root === session.id && children.some((child) => child.id === of && child.callId === id)
  })
}
