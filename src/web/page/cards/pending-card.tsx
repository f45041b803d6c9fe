import type { RemotePendingCall } from '../libero.ts'
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

/** A call that waits for a person: an approval, a question or a plan. It closes when the call waits no more. */
export function PendingCard(props: PendingCardProps) {
  const { call } = props
  // Another digest is another call, about which nothing was decided yet.
  if (!call.isQuestion) return <ApprovalCardView key={call.digest} {...props} />
  if (typeof call.input.plan === 'string') return <PlanCardView key={call.digest} call={call} plan={call.input.plan} />
  return <QuestionCardView key={call.digest} call={call} />
}
