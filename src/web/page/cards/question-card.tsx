import { useRef, useState } from 'preact/hooks'
import {
  questionOfPending,
  questionPendingAnswer,
  submitQuestion,
  toggleOption,
  visibleText,
  writeAnswer,
} from '../libero.ts'
import { Markdown } from '../parts/markdown.tsx'
import { useKept } from '../parts/use-kept.ts'
import { CardFrame } from './card-frame.tsx'
import type { WaitingCall } from './pending-card.tsx'
import { useAnswering } from './use-answering.ts'
import { useArmed } from './use-armed.ts'

/** A question of the agent: its options, and the person's own words. */
export function QuestionCardView({ call }: { readonly call: WaitingCall }) {
  const [kept, keep] = useKept(`answer ${call.digest}`, { selected: [] as readonly number[], text: '' })
  const [card, changeCard] = useState(() =>
    kept.selected.reduce(toggleOption, writeAnswer(questionOfPending(call), kept.text)),
  )
  const setCard = (next: typeof card): void => {
    changeCard(next)
    keep({ selected: next.selected, text: next.text })
  }
  const actions = useRef<HTMLDivElement>(null)
  const isArmed = useArmed(actions)
  const [answering, send] = useAnswering(call)
  const isOpen = answering.state === 'open'
  const submit = (event: Event): void => {
    event.preventDefault()
    if (!isArmed || !isOpen) return
    const outcome = submitQuestion(card)
    if (!outcome.isAccepted) return
    const { content } = questionPendingAnswer(outcome.card)!
    void send(
      { content: String(content) },
      `Answered: ${[...outcome.answer.selected, outcome.answer.text].filter(Boolean).join(', ')}.`,
    )
  }
  const type = card.inputType === 'multi-select' ? 'checkbox' : 'radio'
  const takesText = card.inputType === 'text' || card.allowFreeform
  return (
    <CardFrame kind="question" label="A question waits for your answer" title="The agent asks" answering={answering}>
      <form onSubmit={submit}>
        <Markdown text={card.question} />
        {card.options.length > 0 && (
          <fieldset class="question-options" disabled={!isOpen}>
            <legend class="visually-hidden">Options</legend>
            {card.options.map(({ label, description }, i) => (
              <label key={i}>
                <input
                  type={type}
                  name={call.callId}
                  checked={card.selected.includes(i)}
                  onClick={() => type === 'radio' && card.selected.includes(i) && setCard(toggleOption(card, i))}
                  onChange={() => setCard(toggleOption(card, i))}
                />
                <span>
                  {visibleText(label)}
                  {description !== undefined && <small>{visibleText(description)}</small>}
                </span>
              </label>
            ))}
          </fieldset>
        )}
        {takesText && (
          <label class="question-text">
            <span class="facts">{card.options.length > 0 ? 'In your own words' : 'Your answer'}</span>
            <textarea
              rows={2}
              value={card.text}
              disabled={!isOpen}
              onInput={({ currentTarget: { value } }) => setCard(writeAnswer(card, value))}
              onKeyDown={(event) => event.key === 'Enter' && (event.ctrlKey || event.metaKey) && submit(event)}
            />
          </label>
        )}
        <div ref={actions} class="card-actions">
          <span />
          <button type="submit" class="allow" disabled={!isArmed || !isOpen || !card.canSubmit}>
            Answer
          </button>
        </div>
      </form>
    </CardFrame>
  )
}
