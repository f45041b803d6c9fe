import type { OutboxMessage } from '../model/outbox.ts'
import { MessageContent } from './message-view.tsx'
import { useSessionScreen } from './session-context.ts'

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
