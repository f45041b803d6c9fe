import { useRef, useState } from 'preact/hooks'
import { usePage } from '../frame/page-context.ts'
import { type RemoteAgentInstance, type RemoteAgentMessage, visibleText } from '../libero.ts'
import { ProblemLine } from '../parts/problem-line.tsx'
import { RelativeTime } from '../parts/relative-time.tsx'
import { renderContent } from '../parts/renderers.tsx'
import { Shown } from '../parts/shown.tsx'
import { useAction } from '../parts/use-action.ts'
import { useAnswer } from '../parts/use-answer.ts'
import { useKept } from '../parts/use-kept.ts'
import { RollbackOffer } from './rollback-offer.tsx'

interface AgentMessagesProps {
  readonly agent: RemoteAgentInstance
  /** Changes whenever there may be new messages. */
  readonly head: string
}

/** The messages of an agent, and a place to speak to it. */
export function AgentMessages({ agent: { id, closed }, head }: AgentMessagesProps) {
  const { client } = usePage()
  const [count, setCount] = useState(50)
  const [text, setText] = useKept(`message to ${id}`, '')
  const written = useRef(text)
  written.current = text
  /** The message that failed last: the agent may have it, and under its key it is one message. */
  const tried = useRef<{ readonly text: string; readonly key: string }>(undefined)
  const { isBusy, problem, run } = useAction()
  const answer = useAnswer(async () => {
    const { count: all } = await client.agents.messages(id, { from: 0, to: 0 })
    const { messages } = await client.agents.messages(id, { from: Math.max(0, all - count), to: all })
    return { messages, all }
  }, [id, head, count])
  const send = (event: Event): void => {
    event.preventDefault()
    if (isBusy || text.trim() === '') return
    if (tried.current?.text !== text) tried.current = { text, key: crypto.randomUUID() }
    const { key } = tried.current
    void run(async () => {
      await client.agents.send(id, text, { key })
      tried.current = undefined
      if (written.current === text) setText('') // what was written meanwhile stays
      answer.again()
    })
  }
  return (
    <>
      <Shown answer={answer} what="messages of agents">
        {({ messages, all }) => (
          <>
            {all > messages.length && (
              <button type="button" onClick={() => setCount(count + 200)}>
                {`${all - messages.length} earlier messages`}
              </button>
            )}
            <ol class="agent-messages">
              {messages
                .filter(({ hidden }) => !hidden)
                .map((message) => (
                  <Message
                    key={message.id}
                    message={message}
                    onRewound={(content) => {
                      setText([written.current.trimEnd(), content].filter(Boolean).join('\n'))
                      answer.again()
                    }}
                  />
                ))}
            </ol>
          </>
        )}
      </Shown>
      {closed ? (
        <p class="facts">This agent is closed. Its messages stay.</p>
      ) : (
        <form class="agent-composer" onSubmit={send}>
          <textarea
            rows={2}
            value={text}
            aria-label="Message"
            placeholder="Message …"
            onInput={(event) => setText(event.currentTarget.value)}
            onKeyDown={(event) =>
              event.key === 'Enter' &&
              !event.shiftKey &&
              !event.isComposing &&
              !matchMedia('(pointer: coarse)').matches &&
              send(event)
            }
          />
          <button type="submit" class="primary" disabled={isBusy || text.trim() === ''}>
            Send
          </button>
        </form>
      )}
      <ProblemLine problem={problem} />
    </>
  )
}

interface MessageProps {
  readonly message: RemoteAgentMessage
  readonly onRewound: (content: string) => void
}

function Message({ message, onRewound }: MessageProps) {
  const { role, content, contentType, created } = message
  const { calls: _, ...metadata } = message.metadata ?? {} // one that waits has a card of its own
  if (role === 'tool')
    return (
      <li class="agent-message" data-role={role}>
        <details>
          <summary>{`· ${visibleText(content).split('\n', 1)[0]!.slice(0, 120)}`}</summary>
          <pre>{visibleText(content)}</pre>
        </details>
      </li>
    )
  return (
    <li class="agent-message" data-role={role}>
      {role === 'user' && contentType === undefined ? (
        <p class="lines">{visibleText(content)}</p>
      ) : (
        renderContent({ ...message, metadata, contentType: contentType ?? 'text/markdown' })
      )}
      <span class="agent-message-foot">
        {created !== undefined && <RelativeTime at={created} />}
        {role === 'user' && <Rewind message={message} onRewound={onRewound} />}
      </span>
    </li>
  )
}

/** Takes a message of the person and all after it back, and offers to restore the files from before it. */
function Rewind({ message, onRewound }: MessageProps) {
  const { client } = usePage()
  const { isBusy, problem, run } = useAction()
  const [offers, setOffers] = useState(false)
  const rewind = (): void =>
    void run(async () => {
      const { content = '' } = await client.agents.rewind(message.agentId, message.id)
      onRewound(typeof content === 'string' ? content : content.text)
    })
  return (
    <>
      <button type="button" class="quiet" disabled={isBusy} onClick={rewind}>
        Take back
      </button>
      <button type="button" class="quiet" aria-expanded={offers} onClick={() => setOffers(!offers)}>
        Roll back files
      </button>
      <ProblemLine problem={problem} />
      {offers && <RollbackOffer agent={message.agentId} message={message.id} />}
    </>
  )
}
