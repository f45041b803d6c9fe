import type { ComponentChildren } from 'preact'
import type { Answering } from './use-answering.ts'

interface CardFrameProps {
  readonly kind: 'approval' | 'question' | 'plan'
  readonly title: ComponentChildren
  /** For screen readers, in one sentence. */
  readonly label: string
  readonly answering: Answering
  readonly children: ComponentChildren
  readonly onKeyDown?: ((event: KeyboardEvent) => void) | undefined
}

/** What all cards share: the brightest thing on the screen, with what became of the answer at its end. */
export function CardFrame({ kind, title, label, answering, children, onKeyDown }: CardFrameProps) {
  const said = answering.state === 'open' ? undefined : answering.words
  return (
    <section
      class="card"
      data-kind={kind}
      data-state={answering.state}
      aria-label={label}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: the keys y and n count only while the card itself has the focus
      tabIndex={0}
      onKeyDown={onKeyDown}
    >
      <h2 class="card-title">
        <span class="mark mark-waiting" aria-hidden="true">
          ?
        </span>
        {title}
      </h2>
      {children}
      <p class="card-outcome" role="status">
        {said}
        {answering.state === 'sent' && ' The card closes when the log has it.'}
      </p>
      {answering.state === 'open' && answering.problem !== undefined && (
        <p class="card-problem" role="alert">
          {answering.problem}
        </p>
      )}
    </section>
  )
}
