import { useEffect } from 'preact/hooks'
import { type AnswerRow, formatDuration, pluralize, visibleText } from '../libero.ts'
import { dollars, shortCount } from '../parts/numbers.ts'
import { RelativeTime } from '../parts/relative-time.tsx'
import { renderContent } from '../parts/renderers.tsx'
import { RowActions } from './row-actions.tsx'
import { useOpened, useSessionScreen } from './session-context.ts'
import { useNear } from './use-near.ts'

/** A reply of the model: what it thought, folded, and what it said. */
export function AnswerView({ row }: { readonly row: AnswerRow }) {
  const { id, text, thinking, isOpen = false, isInterrupted, error } = row
  const [isNear, near] = useNear()
  return (
    <div class="answer" {...near}>
      {thinking.trim() !== '' && <Thinking row={row} />}
      {text !== '' && renderContent({ id, role: 'assistant', content: text, contentType: 'text/markdown', isOpen })}
      {isInterrupted && <p class="note">· Interrupted here</p>}
      {error !== undefined && (
        <p class="note bad">
          <span aria-hidden="true">✗ </span>
          {visibleText(error)}
        </p>
      )}
      {!isOpen && text !== '' && <RowActions row={row} isNear={isNear} facts={() => <AnswerFacts row={row} />} />}
    </div>
  )
}

function AnswerFacts({ row: { model, usage, at } }: { readonly row: AnswerRow }) {
  const facts = [
    model,
    usage && `${shortCount(usage.output)} tokens`,
    usage?.cost !== undefined && usage.cost > 0 && dollars(usage.cost),
  ].filter(Boolean)
  return (
    <span class="facts">
      {facts.length > 0 && `${facts.join(' · ')} · `}
      {at > 0 && <RelativeTime at={at} />}
    </span>
  )
}

/** One line, with its duration if this page heard it. */
function Thinking({ row: { id, thinking, text, isOpen } }: { readonly row: AnswerRow }) {
  const { thoughtFor } = useSessionScreen()
  const [isShown, toggle] = useOpened(`${id}.thinking`)
  const isThinking = isOpen === true && text === ''
  useEffect(() => {
    const known = thoughtFor.get(id)
    if (isThinking && !known) thoughtFor.set(id, { from: Date.now() })
    else if (!isThinking && known && known.to === undefined) known.to = Date.now()
  }, [isThinking])
  const times = thoughtFor.get(id)
  const took = times && !isThinking ? ` for ${formatDuration((times.to ?? Date.now()) - times.from)}` : ''
  const words = isThinking
    ? 'thinking'
    : `thought${took || `, ${pluralize(thinking.trim().split(/\s+/).length, 'word')}`}`
  return (
    <div class="thinking">
      <button type="button" class="fold" aria-expanded={isShown} onClick={toggle}>
        <span class="mark" aria-hidden="true">
          ~
        </span>
        {words}
      </button>
      {isShown && <div class="thinking-text">{visibleText(thinking.trim())}</div>}
    </div>
  )
}
