import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import { type AgentInstanceMessage, messageKinds, type RemotePendingCall, visibleName } from '../libero.ts'
import { Guard } from '../parts/guard.tsx'
import { renderers } from '../parts/renderers.tsx'
import { ApprovalCardView } from './approval-card.tsx'
import { PlanCardView } from './plan-card.tsx'
import { QuestionCardView } from './question-card.tsx'
import './cards.css'

/** A call that waits; that of a workflow agent, if it was read from there, is answered through its agent. */
export interface WaitingCall extends RemotePendingCall {
  readonly agent?: { readonly id: string; readonly approvalId: string; readonly onAnswered: () => void }
}

export interface PendingCardProps {
  readonly call: WaitingCall
  /** Tells when the person has had the card in sight, so that it may be answered together with others. */
  readonly onSeen?: (call: WaitingCall, isSeen: boolean) => void
  /** Whether it is among those that are answered together. */
  readonly isChosen?: boolean
  readonly onChoose?: (call: WaitingCall, isChosen: boolean) => void
}

const Pending = createContext<PendingCardProps | undefined>(undefined)

/** The card that is being drawn. A renderer gets a message, which cannot hold what answers it. */
export function usePending(): PendingCardProps {
  const props = useContext(Pending)
  if (!props) throw new Error('This is no card: useWaiting is for what draws a call that waits')
  return props
}

/** A call that waits for a person: an approval, a question or a plan. It closes when the call waits no more. */
export function PendingCard(props: PendingCardProps) {
  return (
    <Pending.Provider value={props}>
      {/* Another digest is another call, about which nothing was decided yet. */}
      <Guard
        key={props.call.digest}
        what={`card of ${visibleName(props.call.name)}`}
        instead={() => (props.call.isQuestion ? <Question /> : <Approval />)}
      >
        {renderers.render(messageOf(props.call))}
      </Guard>
    </Pending.Provider>
  )
}

function messageOf({ session, callId, name, input, reason, isQuestion }: WaitingCall): AgentInstanceMessage {
  const call = { callId, toolId: name, parameters: input, waitsFor: isQuestion ? 'answer' : 'permission' } as const
  const metadata = { toolId: name, callId, toolParameters: input, containsToolCall: true, calls: [call] }
  return { id: callId, agentId: session, role: 'assistant', content: reason, metadata }
}

renderers.register({ ...messageKinds.approval, render: () => <Approval /> })
renderers.register({
  ...{ id: 'plan', priority: 160 },
  matches: (message) => asks(message) && typeof message.metadata?.toolParameters?.plan === 'string',
  render: () => <Plan />,
})
// The usual match takes answered questions too, which are text.
renderers.register({ ...messageKinds.question, matches: asks, render: () => <Question /> })

function asks({ metadata }: AgentInstanceMessage): boolean {
  return metadata?.calls?.[0]?.waitsFor === 'answer'
}

function Approval() {
  return <ApprovalCardView {...usePending()} />
}

function Question() {
  return <QuestionCardView call={usePending().call} />
}

function Plan() {
  const { call } = usePending()
  return <PlanCardView call={call} plan={String(call.input.plan)} />
}
