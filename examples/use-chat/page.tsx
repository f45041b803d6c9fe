// A chat page with React's useChat, on a server that was made with createServer of libero/server, on the same origin.
// The page has the cookie of POST /v1/login. A reload shows what the log has and goes on with the reply under way.
import { useChat } from '@ai-sdk/react'
import { DefaultChatTransport, type UIMessage } from 'ai'
import { answersAreComplete, toUIMessages } from 'libero/ai-sdk'
import { type FormEvent, useState } from 'react'

const headers = { 'x-libero': '1' } // with a cookie, requests that change something need it
const transport = new DefaultChatTransport({ api: '/v1/chat', headers })

/** What the session holds; give it to `ChatPage` before the first render. */
export async function loadMessages(id: string): Promise<UIMessage[]> {
  const response = await fetch(`/v1/sessions/${encodeURIComponent(id)}/entries?limit=1000&fromEnd=true`)
  return response.ok ? toUIMessages((await response.json()).entries) : []
}

export function ChatPage({ id, loaded }: { id: string; loaded: UIMessage[] }) {
  const [text, setText] = useState('')
  const { messages, status, error, sendMessage, regenerate, addToolApprovalResponse } = useChat({
    ...{ id, transport, messages: loaded, resume: true },
    sendAutomaticallyWhen: answersAreComplete,
  })
  const isBusy = status === 'submitted' || status === 'streaming'
  // Leaving the page, or stop() of useChat, stops nothing: this does.
  const stop = () => fetch(`/v1/sessions/${encodeURIComponent(id)}/stop`, { method: 'POST', headers })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    void sendMessage({ text })
    setText('')
  }
  const answer = (approvalId: string, approved: boolean) => void addToolApprovalResponse({ id: approvalId, approved })

  return (
    <main>
      {messages.map((message) => (
        <article key={message.id} data-role={message.role}>
          {message.parts.map((part, i) => (
            <Part key={i} part={part} answer={answer} />
          ))}
        </article>
      ))}
      {error && (
        <button type="button" onClick={() => void regenerate()}>
          {error.message} Try again
        </button>
      )}
      <form onSubmit={submit}>
        <input value={text} onChange={(event) => setText(event.target.value)} />
        {isBusy ? (
          <button type="button" onClick={() => void stop()}>
            Stop
          </button>
        ) : (
          <button type="submit" disabled={text === ''}>
            Send
          </button>
        )}
      </form>
    </main>
  )
}

interface PartProps {
  readonly part: UIMessage['parts'][number]
  readonly answer: (approvalId: string, approved: boolean) => void
}

function Part({ part, answer }: PartProps) {
  if (part.type === 'text') return <p>{part.text}</p>
  if (part.type === 'reasoning') return <details>{part.text}</details>
  if (part.type !== 'dynamic-tool') return null
  return (
    <section>
      {part.toolName} {JSON.stringify(part.input)}: {part.errorText ?? JSON.stringify(part.output) ?? part.state}
      {part.state === 'approval-requested' && (
        <>
          <button type="button" onClick={() => answer(part.approval.id, true)}>
            Allow
          </button>
          <button type="button" onClick={() => answer(part.approval.id, false)}>
            Deny
          </button>
        </>
      )}
    </section>
  )
}
