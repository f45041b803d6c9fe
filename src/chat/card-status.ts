import type { ApprovalCard } from './approval-card.ts'
import type { QuestionCard } from './question-card.ts'

/** A card leaves `open` once, and is never reopened. */
export type CardStatus = 'open' | 'answered' | 'expired' | 'withdrawn'

/** A card that a person can act on. Cards are immutable: each change returns a new card. */
export interface Card {
  /** The id of the prompt or the call, to answer it. */
  readonly id: string
  readonly status: CardStatus
  /** Whether its buttons are inactive. */
  readonly isDisabled: boolean
}

/** The result of an answer: the card, and why the answer was refused. */
export type CardOutcome<Kind extends Card & { readonly answer?: object }> =
  | { readonly isAccepted: true; readonly card: Kind; readonly answer: NonNullable<Kind['answer']> }
  | { readonly isAccepted: false; readonly card: Kind; readonly reason: string }

/** Why a card accepts no answer; undefined while it is open. */
export function closedReason({ status }: Card): string | undefined {
  return status === 'open' ? undefined : closed[status]
}

const closed: Readonly<Record<Exclude<CardStatus, 'open'>, string>> = {
  answered: 'This was answered already; the first answer counts.',
  expired: 'There was no answer in time; the agent can ask again.',
  withdrawn: 'This question was withdrawn: the run was stopped, or it was answered elsewhere.',
}

/** The expired card; a closed one stays as it is. */
export function expireCard<Kind extends ApprovalCard | QuestionCard>(card: Kind): Kind {
  return closeCard(card, 'expired')
}

/** The withdrawn card; a closed one stays as it is. */
export function withdrawCard<Kind extends ApprovalCard | QuestionCard>(card: Kind): Kind {
  return closeCard(card, 'withdrawn')
}

/** The card with a final status; a closed one stays as it is. */
export function closeCard<Kind extends Card>(card: Kind, status: Exclude<CardStatus, 'open'>): Kind {
  return card.status === 'open' ? Object.freeze({ ...card, status, isDisabled: true }) : card
}
