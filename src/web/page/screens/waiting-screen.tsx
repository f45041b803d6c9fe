import { PendingCards } from '../cards/pending-cards.tsx'
import { usePage } from '../frame/page-context.ts'
import { useModel } from '../model/model.ts'

/** What waits for the person, in all sessions, answered in place. */
export function WaitingScreen() {
  const { sessions } = usePage()
  const { pending } = useModel(sessions)
  return (
    <section class="sheet">
      <h1>Waiting</h1>
      <PendingCards calls={pending} />
    </section>
  )
}
