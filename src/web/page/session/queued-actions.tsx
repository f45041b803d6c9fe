import { usePage } from '../frame/page-context.ts'
import type { QueuedMessage } from '../libero.ts'
import { useAction } from '../parts/use-action.ts'
import { useSessionScreen } from './session-context.ts'

export interface QueuedActionsProps {
  readonly message: Pick<QueuedMessage, 'clientKey'> & Partial<Pick<QueuedMessage, 'mode'>>
  /** What the page says of it. */
  readonly words?: string
}

/** What can be done with a message that the model has not got yet. */
export function QueuedActions({ message: { clientKey, mode }, words }: QueuedActionsProps) {
  const { client } = usePage()
  const { session, compose } = useSessionScreen()
  const { isBusy, problem, run } = useAction()
  const takenBack = () => client.sessions.takeBack(session.id, clientKey)
  const takeBack = (): Promise<boolean> => run(takenBack)
  /** The answer has all of it; the page keeps long texts cut, and no pictures. */
  const edit = (): Promise<boolean> => run(async () => compose((await takenBack()).content))
  return (
    <>
      <span class="facts">{words ?? (mode === 'steer' ? 'comes before the next step' : 'queued')}</span>
      <button type="button" class="quiet" disabled={isBusy} onClick={edit}>
        Edit
      </button>
      <button type="button" class="quiet" disabled={isBusy} onClick={takeBack}>
        Take back
      </button>
      {problem !== undefined && <span role="alert">{problem}</span>}
    </>
  )
}
