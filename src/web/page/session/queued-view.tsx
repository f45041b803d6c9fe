import { usePage } from '../frame/page-context.ts'
import type { QueuedMessage } from '../libero.ts'
import { useAction } from '../parts/use-action.ts'
import { MessageContent } from './message-view.tsx'
import { useSessionScreen } from './session-context.ts'

export interface QueuedViewProps {
  readonly message: QueuedMessage
}

/** A message that the log has and the model does not: it can be taken back, or edited. */
export function QueuedView({ message }: QueuedViewProps) {
  const { client } = usePage()
  const { session, compose } = useSessionScreen()
  const { isBusy, problem, run } = useAction()
  const { clientKey, content, mode, id } = message
  const takenBack = () => client.sessions.takeBack(session.id, clientKey)
  const takeBack = (): Promise<boolean> => run(takenBack)
  /** The answer has all of it; the page keeps long texts cut, and no pictures. */
  const edit = (): Promise<boolean> => run(async () => compose((await takenBack()).content))
  return (
    <div class="message is-queued">
      <span class="mark" aria-hidden="true">
        ›
      </span>
      <MessageContent id={id} content={content} />
      <div class="queued-actions">
        <span class="facts">{mode === 'steer' ? 'comes before the next step' : 'queued'}</span>
        <button type="button" class="quiet" disabled={isBusy} onClick={edit}>
          Edit
        </button>
        <button type="button" class="quiet" disabled={isBusy} onClick={takeBack}>
          Take back
        </button>
        {problem !== undefined && <span role="alert">{problem}</span>}
      </div>
    </div>
  )
}
