import { type TokenBreakdown, tokenRing } from '../libero.ts'
import { shortCount } from './numbers.ts'
import './token-ring.css'

type Counts = Omit<TokenBreakdown, 'ratio' | 'level' | 'reported'>

const kindWords: Readonly<Record<string, string>> = {
  system: 'system',
  tools: 'tools',
  user: 'you',
  assistant: 'answers',
  toolResults: 'results',
}

/** What fills the context of a model, as a ring with its parts in words beside it. */
export function TokenRingView({ counts }: { readonly counts: Counts }) {
  const { segments, label, level } = tokenRing(counts)
  const around = 2 * Math.PI * radius
  return (
    <figure class="token-ring" data-level={level}>
      <svg viewBox="0 0 40 40" role="img" aria-label={`Context: ${label}`}>
        <circle class="token-ring-ground" cx="20" cy="20" r={radius} />
        {segments.map(({ kind, start, end }) => (
          <circle
            key={kind}
            data-kind={kind}
            cx="20"
            cy="20"
            r={radius}
            stroke-dasharray={`${(end - start) * around} ${around}`}
            stroke-dashoffset={-start * around}
            transform="rotate(-90 20 20)"
          />
        ))}
      </svg>
      <figcaption>
        <strong>{label}</strong>
        <span class="token-ring-parts">
          {segments.map(({ kind, tokens }) => (
            <span key={kind}>
              <i data-kind={kind} aria-hidden="true" />
              {`${kindWords[kind]} ${shortCount(tokens)}`}
            </span>
          ))}
        </span>
      </figcaption>
    </figure>
  )
}

const radius = 16
