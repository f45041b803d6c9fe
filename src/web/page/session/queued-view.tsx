import { usePage } from '../frame/page-context.ts'
import type { QueuedMessage } from '../libero.ts'
import type { OutboxMessage } from '../model/outbox.ts'
import { useAction } from '../parts/use-action.ts'
import { MessageContent } from './message-view.tsx'
import { useSessionScreen } from './session-context.ts'

/** A message that the log has and the model does not: it can be taken back, or edited. */
export function QueuedView({ message }: { readonly message: QueuedMessage }) {
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

/** A message that the log does not have yet. One that could not be sent keeps its text. */
export function SendingView({ message: { key, content, problem } }: { readonly message: OutboxMessage }) {
  const { session, compose } = useSessionScreen()
  const blocks = typeof content === 'string' ? [{ type: 'text', text: content } as const] : content
  const again = (): void => void session.sendAgain(key).catch(() => {})
  return (
    <div class="message is-queued">
      <span class="mark" aria-hidden="true">
        ›
      </span>
      <MessageContent id={key} content={blocks} />
      <div class="queued-actions">
        {problem === undefined ? (
          <span class="facts">sending</span>
        ) : (
          <>
            <span class="bad" role="alert">{`Not sent: ${problem}`}</span>
            <button type="button" class="quiet" onClick={again}>
              Send again
            </button>
            <button
              type="button"
              class="quiet"
              onClick={() => {
                session.dismiss(key)
                compose(content)
              }}
            >
              Edit
            </button>
          </>
        )}
      </div>
    </div>
  )
}
