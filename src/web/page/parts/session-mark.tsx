import type { SessionStatus } from '../libero.ts'

const marks: Readonly<Record<SessionStatus, readonly [mark: string, words: string]>> = {
  working: ['●', 'works'],
  waiting: ['?', 'waits for you'],
  interrupted: ['◐', 'was interrupted'],
  failed: ['✗', 'failed'],
  parked: ['⊘', 'parked after crashes'],
  idle: ['○', 'idle'],
}

/** The state of a session as a mark, with its meaning for those who cannot see it. */
export function SessionMark({ status }: { readonly status: SessionStatus }) {
  const [mark, words] = marks[status]
  return (
    <span class={`mark mark-${status}`} role="img" aria-label={words} title={words}>
      {mark}
    </span>
  )
}
