import { useRef, useState } from 'preact/hooks'
import { Markdown } from '../parts/markdown.tsx'
import { useKept } from '../parts/use-kept.ts'
import { CardFrame } from './card-frame.tsx'
import type { WaitingCall } from './pending-card.tsx'
import { ReasonForm } from './reason-form.tsx'
import { useAnswering } from './use-answering.ts'
import { useArmed } from './use-armed.ts'

/** A plan of the agent: shown, changed, approved or refused. */
export function PlanCardView({ call, plan }: { readonly call: WaitingCall; readonly plan: string }) {
  const [text, setText] = useKept(`plan ${call.digest}`, plan)
  const [open, setOpen] = useState<'edit' | 'reason'>()
  const actions = useRef<HTMLDivElement>(null)
  const isArmed = useArmed(actions)
  const [answering, send] = useAnswering(call)
  const isActive = isArmed && answering.state === 'open'
  const isChanged = text.trim() !== plan.trim()
  const approve = (): void => {
    const content = isChanged ? `Approved with changes. Carry out this version:\n\n${text}` : 'Approved. Go ahead.'
    void send({ content }, isChanged ? 'Approved with your changes.' : 'Approved.')
  }
  const refuse = (reason = ''): void => {
    const why = reason === '' ? 'Ask what should be different, or present another one.' : reason
    void send({ content: `The plan is not approved: do not carry it out. ${why}` }, 'Refused.')
  }
  return (
    <CardFrame
      kind="plan"
      label="A plan waits for your approval"
      title="The agent presents a plan"
      answering={answering}
    >
      {open === 'edit' ? (
        <label class="plan-text">
          <span class="facts">The plan</span>
          <textarea rows={14} value={text} onInput={(event) => setText(event.currentTarget.value)} />
        </label>
      ) : (
        <div class="plan">
          <Markdown text={text} />
        </div>
      )}
      <div ref={actions} class="card-actions">
        <span class="card-buttons">
          <button type="button" class="deny" disabled={!isActive} onClick={() => refuse()}>
            Refuse
          </button>
          <button
            type="button"
            disabled={!isActive}
            aria-expanded={open === 'reason'}
            onClick={() => setOpen(open === 'reason' ? undefined : 'reason')}
          >
            Refuse, because …
          </button>
        </span>
        <span class="card-buttons">
          <button
            type="button"
            disabled={!isActive}
            aria-pressed={open === 'edit'}
            onClick={() => setOpen(open === 'edit' ? undefined : 'edit')}
          >
            {open === 'edit' ? 'Show as text' : 'Change'}
          </button>
          <button type="button" class="allow" disabled={!isActive || text.trim() === ''} onClick={approve}>
            {isChanged ? 'Approve with changes' : 'Approve'}
          </button>
        </span>
      </div>
      {open === 'reason' && (
        <ReasonForm
          label="What should be different? The model reads it."
          button="Refuse with this reason"
          isActive={isActive}
          digest={call.digest}
          onSend={refuse}
        />
      )}
    </CardFrame>
  )
}
