import { type CallRow, callTitle, formatDuration, visibleName } from '../libero.ts'
import type { CallEnd } from '../model/session-fold.ts'

interface CallLineProps {
  readonly mark: CallMark
  readonly name: string
  readonly what: string
  readonly facts: readonly (string | undefined)[]
  readonly isOpen: boolean
  readonly onToggle: () => void
}

export type CallMark = 'done' | 'failed' | 'refused' | 'waits' | 'works' | 'open'

const marks: Readonly<Record<CallMark, readonly [mark: string, words: string, state: string]>> = {
  done: ['✓', 'done', 'done'],
  failed: ['✗', 'failed', 'failed'],
  refused: ['⊘', 'refused', 'refused'],
  waits: ['?', 'waits for you', 'waiting'],
  works: ['', 'at work', 'working'],
  open: ['·', 'not started', 'idle'],
}

/** One line: mark, tool, what it is about, and the facts at the right. */
export function CallLine({ mark, name, what, facts, isOpen, onToggle }: CallLineProps) {
  const [sign, words, state] = marks[mark]
  return (
    <button type="button" class="call-line" aria-expanded={isOpen} onClick={onToggle}>
      <span class="chevron" aria-hidden="true">
        {isOpen ? '▾' : '▸'}
      </span>
      <span class={`mark mark-${state}`} role="img" aria-label={words}>
        {mark === 'works' ? <span class="spinner" /> : sign}
      </span>
      <span class="call-name">{visibleName(name).slice(0, 60)}</span>
      <span class="call-what one-line">{what}</span>
      <span class="facts">{facts.filter(Boolean).join(' · ')}</span>
    </button>
  )
}

/** The mark of a call. */
export function markOf({ state, result }: CallRow, end: CallEnd | undefined): CallMark {
  if (result && end) {
    if (end.isGood) return 'done'
    return result.outcome === 'blocked' ? 'refused' : 'failed'
  }
  if (state === 'waiting') return 'waits'
  return state === 'open' ? 'open' : 'works'
}

/** What a call is about, in one line; while it streams, what is known of it. */
export function whatOf({ state, input, live, raw }: CallRow, folder: string): string {
  if (state === 'streaming') return visibleName((live?.args ?? '').slice(-80))
  return raw === undefined ? callTitle(input, folder) : visibleName(raw.slice(0, 200))
}

/** How long a call worked, without the time that a person took to answer; undefined where it is not worth a word. */
export function durationOf({ at, started, approvals = [], result, input }: CallRow): string | undefined {
  if (!result || result.outcome === 'blocked') return undefined
  const begun = Math.max(at, started?.at ?? 0, ...approvals.map(({ answer }) => answer?.at ?? 0))
  const took = begun === 0 ? 0 : result.at - begun
  return took > (typeof input.command === 'string' ? 50 : 1000) ? formatDuration(took) : undefined
}
