import { useModel } from '../model/model.ts'
import type { OutboxMessage } from '../model/outbox.ts'
import { lazy } from '../parts/lazy.tsx'
import { MessageContent } from './message-view.tsx'
import type { QueuedActionsProps } from './queued-actions.tsx'
import { useSessionScreen } from './session-context.ts'
import type { TailItem } from './tail-items.ts'

const QueuedActions = lazy<QueuedActionsProps>(async () => (await import('./queued-actions.tsx')).QueuedActions)

/** A message that the model has not got yet: one that the log has can be taken back, or edited. */
export function QueuedView({ item }: { readonly item: TailItem }) {
  const { id, content } = 'queued' in item ? item.queued : { id: item.sending.key, content: item.sending.content }
  const blocks = typeof content === 'string' ? [{ type: 'text', text: content } as const] : content
  return (
    <div class="message is-queued">
      <span class="mark" aria-hidden="true">
        ›
      </span>
      <MessageContent id={id} content={blocks} />
      <div class="queued-actions">
        {'queued' in item ? <QueuedActions message={item.queued} /> : <SendingActions message={item.sending} />}
      </div>
    </div>
  )
}

const sent = 'sent: read when the run goes on'

/** A message that the log does not have yet. One that could not be sent keeps its text. */
function SendingActions({ message: { key, content, problem, isAccepted } }: { readonly message: OutboxMessage }) {
  const { session, compose } = useSessionScreen()
  const isWaiting = useModel(session, ({ view }) => view.status === 'waiting')
  // Before any other run it is accepted at once.
  if (isAccepted && isWaiting) return <QueuedActions message={{ clientKey: key }} words={sent} />
  if (problem === undefined) return <span class="facts">{isAccepted ? sent : 'sending'}</span>
  return (
    <>
      <span class="bad" role="alert">{`Not sent: ${problem}`}</span>
      <button type="button" class="quiet" onClick={() => void session.sendAgain(key).catch(() => {})}>
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
  )
}
