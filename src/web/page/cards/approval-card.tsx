import { useEffect, useRef } from 'preact/hooks'
import {
  type ApprovalCard,
  answerApproval,
  approvalOfPending,
  approvalPendingAnswers,
  type EditDecision,
  fullyVisible,
} from '../libero.ts'
import { useKept } from '../parts/use-kept.ts'
import { CallView, callSubject } from './call-view.tsx'
import { CardFrame } from './card-frame.tsx'
import { EditChoices } from './edit-choices.tsx'
import type { PendingCardProps } from './pending-card.tsx'
import { ReasonForm } from './reason-form.tsx'
import { RuleForm } from './rule-form.tsx'
import { useAnswering } from './use-answering.ts'
import { useArmed } from './use-armed.ts'
import { WhyAsked } from './why-asked.tsx'

/** A call that needs approval, shown whole, with the choices that the authority offers. Nothing is chosen by Enter. */
export function ApprovalCardView({ call: pending, onSeen, isChosen, onChoose }: PendingCardProps) {
  const card = approvalOfPending(pending)
  const call = card.calls[0]!
  const actions = useRef<HTMLDivElement>(null)
  const isArmed = useArmed(actions)
  const [answering, send] = useAnswering(pending)
  const [open, setOpen] = useKept<'more' | 'reason' | 'edits' | undefined>(`open ${pending.digest}`, undefined)
  useEffect(() => onSeen?.(pending, isArmed), [isArmed])
  const isActive = isArmed && answering.state === 'open'

  const answer = (
    choice: ApprovalCard['choices'][number],
    given: { note?: string; rule?: string; edits?: readonly EditDecision[] } = {},
  ): void => {
    const { note, rule, edits } = given
    const outcome = answerApproval(card, choice, {
      ...(note !== undefined && { note }),
      ...(rule !== undefined && { rule }),
      ...(edits && { edits: { [call.callId]: edits } }),
    })
    if (!outcome.isAccepted) return
    const [, { content: _, ...sent }] = approvalPendingAnswers(outcome.answer)[0]!
    void send(
      { ...sent, ...(note && { content: note }) },
      `${sent.decision === 'deny' ? 'Denied' : `Allowed ${rule === undefined ? (card.words[choice] ?? 'once') : `always: ${rule}`}`}.`,
    )
  }
  const onKeyDown = (event: KeyboardEvent): void => {
    const isPlain = !event.ctrlKey && !event.metaKey && !event.altKey && !event.repeat
    if (event.target !== event.currentTarget || !isPlain || !isActive) return
    if (event.key === 'y') answer('allow')
    if (event.key === 'n') answer('deny')
  }
  const toggle = (part: NonNullable<typeof open>) => () => setOpen(open === part ? undefined : part)
  const wider = card.choices.filter(
    (choice) => choice !== 'allow' && choice !== 'deny' && !(pending.agent && choice === 'allow-outside'),
  )
  const edits = call.preview?.files[0]?.edits ?? []
  const hasEdits = !pending.agent && edits.length > 1 && edits.length === call.edits
  const tool = fullyVisible(call.tool)
  const subject = callSubject(call)

  return (
    <CardFrame
      kind="approval"
      label={`${tool} ${subject} waits for your decision`}
      title={
        <>
          <strong>{tool}</strong> <span class="card-subject">{subject}</span>
          {onChoose && (
            <label class="card-choose">
              <input
                type="checkbox"
                checked={isChosen}
                onChange={(event) => onChoose(pending, event.currentTarget.checked)}
              />
              with others
            </label>
          )}
        </>
      }
      {...{ answering, onKeyDown }}
    >
      <CallView call={call} hidesDiffs={open === 'edits'} />
      {open === 'edits' && (
        <EditChoices
          edits={edits}
          digest={pending.digest}
          isOpen={answering.state === 'open'}
          onDecide={(all) => answer('allow', { edits: all })}
        />
      )}
      <WhyAsked call={pending} />
      <div ref={actions} class="card-actions">
        <span class="card-buttons">
          <button type="button" class="deny" disabled={!isActive} onClick={() => answer('deny')}>
            Deny
          </button>
          <button type="button" disabled={!isActive} aria-expanded={open === 'reason'} onClick={toggle('reason')}>
            Deny, because …
          </button>
        </span>
        <span class="card-buttons">
          <button
            type="button"
            class="allow"
            disabled={!isActive}
            title={card.words.allow}
            onClick={() => answer('allow')}
          >
            {allowLabel(card.words.allow)}
          </button>
          {hasEdits && (
            <button type="button" disabled={!isActive} aria-expanded={open === 'edits'} onClick={toggle('edits')}>
              {`Each of ${edits.length} edits`}
            </button>
          )}
          {wider.length > 0 && (
            <button type="button" disabled={!isActive} aria-expanded={open === 'more'} onClick={toggle('more')}>
              More
            </button>
          )}
        </span>
      </div>
      {open === 'reason' && (
        <ReasonForm
          label="Why not? The model reads it."
          button="Deny with this reason"
          isActive={isActive}
          digest={pending.digest}
          onSend={(note) => answer('deny', { note })}
        />
      )}
      {open === 'more' && (
        <ul class="card-choices">
          {wider.map((choice) => (
            <li key={choice}>
              <button type="button" disabled={!isActive} onClick={() => answer(choice)}>
                <strong>{choiceNames[choice]}</strong>
                <span>{fullyVisible(card.words[choice] ?? '')}</span>
              </button>
            </li>
          ))}
          {card.rule !== undefined && !pending.agent && (
            <li>
              <RuleForm
                rule={card.rule}
                digest={pending.digest}
                isActive={isActive}
                onKeep={(rule) => answer('allow-project', { rule })}
              />
            </li>
          )}
        </ul>
      )}
    </CardFrame>
  )
}

/** Where a command would run outside any sandbox even if it is allowed once, the button says so. */
function allowLabel(words = 'once'): string {
  return words.includes('outside any sandbox') ? 'Allow once, outside any sandbox' : 'Allow once'
}

const choiceNames: Readonly<Record<ApprovalCard['choices'][number], string>> = {
  allow: 'Allow once',
  'allow-outside': 'Allow once, outside the sandbox',
  'allow-session': 'Allow in this session',
  'allow-project': 'Always allow in this project',
  deny: 'Deny',
}
