import { useState } from 'preact/hooks'
import { usePage } from '../frame/page-context.ts'
import { useAnswer } from '../parts/use-answer.ts'
import type { WaitingCall } from './pending-card.tsx'

/** Why a person is asked about a call: the sentences of `/why`, read when they are wanted. */
export function WhyAsked({ call }: { readonly call: WaitingCall }) {
  const [isOpen, setOpen] = useState(false)
  return (
    <details class="why-asked" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Why am I asked?</summary>
      {isOpen && <Why call={call} />}
    </details>
  )
}

function Why({ call }: { readonly call: WaitingCall }) {
  const { client } = usePage()
  const { value, error } = useAnswer(() => client.sessions.why(call.session, call.callId), [call.digest])
  if (error) return <p class="facts">This server does not say why.</p>
  return <p class="facts">{value ? value.lines.join('\n') : '…'}</p>
}
