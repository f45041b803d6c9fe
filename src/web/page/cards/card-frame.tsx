import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { focusIfLost } from '../parts/focus-if-lost.ts'
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
  const card = useRef<HTMLElement>(null)
  // A button that is not active any more loses the focus.
  useLayoutEffect(() => {
    if (answering.state !== 'open' && card.current?.contains(document.activeElement))
      card.current.focus({ preventScroll: true })
  }, [answering.state])
  useLayoutEffect(() => {
    const section = card.current!
    // It goes with the focus: the next card gets it, or what they stand in.
    return () => {
      if (!section.contains(document.activeElement)) return
      const around = section.closest<HTMLElement>('.conversation, .screen')
      setTimeout(() => focusIfLost(document.querySelector<HTMLElement>('.card') ?? around))
    }
  }, [])
  return (
    <section
      ref={card}
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
