import { useEffect, useRef, useState } from 'preact/hooks'
import { AnsweredLine } from '../cards/answered-line.tsx'
import { PendingCards } from '../cards/pending-cards.tsx'
import { usePage } from '../frame/page-context.ts'
import type { RemotePendingCall } from '../libero.ts'
import { useModel } from '../model/model.ts'
import { Empty } from '../parts/empty.tsx'
import { Skeleton } from '../parts/skeleton.tsx'
import { NotificationChoice } from '../waiting/notification-choice.tsx'

/** What waits for the person, in all sessions, answered in place. What was answered meanwhile says by whom. */
export function WaitingScreen() {
  const { sessions: list } = usePage()
  const { pending, sessions } = useModel(list)
  const answered = useAnswered(pending)
  return (
    <section class="sheet">
      <div class="sheet-head">
        <h1>Waiting</h1>
        <NotificationChoice />
      </div>
      {!sessions && <Skeleton lines={6} />}
      {sessions && pending.length === 0 && (
        <Empty title="Nothing waits for you">
          <p>Approvals and questions of all sessions appear here as soon as an agent has one.</p>
        </Empty>
      )}
      <PendingCards calls={pending} isOverSessions />
      {answered.length > 0 && (
        <section class="answered" aria-label="Answered">
          <h2>Answered</h2>
          <ul>
            {answered.map((call) => (
              <AnsweredLine key={`${call.session} ${call.callId}`} call={call} />
            ))}
          </ul>
        </section>
      )}
    </section>
  )
}

/** The calls that waited while the screen was open, and wait no more; the last one first. */
function useAnswered(pending: readonly RemotePendingCall[]): readonly RemotePendingCall[] {
  const before = useRef(pending)
  const [answered, setAnswered] = useState<readonly RemotePendingCall[]>([])
  useEffect(() => {
    const isThere = ({ session, digest }: RemotePendingCall): boolean =>
      pending.some((one) => one.session === session && one.digest === digest)
    const gone = before.current.filter((call) => !isThere(call))
    before.current = pending
    if (gone.length > 0) setAnswered((known) => [...gone, ...known].slice(0, 20))
  }, [pending])
  return answered
}
