import type { tokenRing } from '../libero.ts'
import '../styles/ring.css'

const radius = 40
const around = 2 * Math.PI * radius

/** What fills the context, as a ring. */
export function Ring({ ring: { segments, label, level } }: { readonly ring: ReturnType<typeof tokenRing> }) {
  return (
    <figure class="ring" data-level={level}>
      <svg viewBox="0 0 100 100" role="img" aria-label={`Context: ${label}`}>
        <circle class="ring-ground" cx="50" cy="50" r={radius} />
        {segments.map(({ kind, start, end }) => (
          <circle
            key={kind}
            class={`ring-${kind}`}
            cx="50"
            cy="50"
            r={radius}
            stroke-dasharray={`${Math.max(0, (end - start) * around - 1)} ${around}`}
            stroke-dashoffset={-start * around}
          />
        ))}
      </svg>
      <figcaption>
        <span>{label}</span>
        <ul class="ring-legend">
          {segments.map(({ kind }) => (
            <li key={kind} class={`legend-${kind}`}>
              {kind === 'toolResults' ? 'results' : kind}
            </li>
          ))}
        </ul>
      </figcaption>
    </figure>
  )
}
