/** Where a card with a question stands. It leaves `open` once, and never comes back. */
export type CardStatus = 'open' | 'answered' | 'expired' | 'withdrawn'

/** A card that somebody can act on. Cards are values: what happens to one gives another. */
export interface Card {
  /** What the answer is given under: the id of the prompt, or of the call. */
  readonly id: string
  readonly status: CardStatus
  /** Whether its buttons do nothing any more. */
  readonly isDisabled: boolean
}

/** What became of an answer: the card, and where it was not taken, why. */
export type CardOutcome<Kind extends Card, Given> =
  | { readonly isAccepted: true; readonly card: Kind; readonly answer: Given }
  | { readonly isAccepted: false; readonly card: Kind; readonly reason: string }

/** Why a card takes no answer; undefined while it does. */
export function closedReason({ status }: Card): string | undefined {
  return status === 'open' ? undefined : closed[status]
}

const closed: Readonly<Record<Exclude<CardStatus, 'open'>, string>> = {
  answered: 'This was answered already; the first answer counts.',
  expired: 'Nobody answered in time, so this counts as not answered; the agent can ask again.',
  withdrawn: 'This is not asked any more: the run was stopped, or somebody else answered.',
}

/** The same card after its time has passed; one that is closed stays as it is. */
export function expireCard<Kind extends Card>(card: Kind): Kind {
  return closeCard(card, 'expired')
}

/** The same card after nobody wants an answer any more; one that is closed stays as it is. */
export function withdrawCard<Kind extends Card>(card: Kind): Kind {
  return closeCard(card, 'withdrawn')
}

/** The same card with another status; one that is closed stays as it is. */
export function closeCard<Kind extends Card>(card: Kind, status: Exclude<CardStatus, 'open'>): Kind {
  return card.status === 'open' ? Object.freeze({ ...card, status, isDisabled: true }) : card
}
