import { Fragment } from 'preact'
import { useRef, useState } from 'preact/hooks'
import { Link } from '../frame/link.tsx'
import { usePage } from '../frame/page-context.ts'
import { visibleName } from '../libero.ts'
import type { WaitingCall } from './pending-card.tsx'
import { PendingCard } from './pending-card.tsx'
import { sendAnswer } from './use-answering.ts'
import { useArmed } from './use-armed.ts'

export interface PendingCardsProps {
  readonly calls: readonly WaitingCall[]
  /** They are of several sessions, whose names are shown. */
  readonly isOverSessions?: boolean
}

/** Several calls that wait. Approvals can be answered together: all of them, or all except those without a mark. */
export function PendingCards({ calls, isOverSessions = false }: PendingCardsProps) {
  const page = usePage()
  const [left, setLeft] = useState<ReadonlySet<string>>(new Set())
  const [seen, setSeen] = useState<ReadonlySet<string>>(new Set())
  const [report, setReport] = useState('')
  const approvals = calls.filter(({ isQuestion }) => !isQuestion)
  const isTogether = approvals.length > 1
  const chosen = approvals.filter((call) => !left.has(keyOf(call)))
  const unseen = chosen.filter((call) => !seen.has(keyOf(call))).length

  const [isSending, setSending] = useState(false)
  const answerAll = async (decision: 'allow' | 'deny'): Promise<void> => {
    setSending(true)
    const words = decision === 'allow' ? 'Allowed once.' : 'Denied.'
    setReport(`Sending ${chosen.length} answers …`)
    const outcomes = await Promise.all(chosen.map((call) => sendAnswer(page, call, { decision }, words)))
    const counted = outcomes.filter(({ state }) => state === 'sent').length
    setReport(counted === chosen.length ? '' : `${counted} of ${chosen.length} answers counted; look at the others.`)
    await page.sessions.refreshPending().catch(() => {})
    setSending(false)
  }
  return (
    <div class="pending-cards">
      {isTogether && (
        <Together
          marked={chosen.length}
          all={approvals.length}
          unseen={unseen}
          isSending={isSending}
          report={report}
          onAnswer={answerAll}
        />
      )}
      {calls.map((call, i) => (
        <Fragment key={keyOf(call)}>
          {isOverSessions && calls[i - 1]?.root !== call.root && (
            <h2 class="card-session">
              <Link to={{ screen: 'session', id: call.root, part: 'chat' }}>
                {visibleName(call.title ?? call.root)}
              </Link>
            </h2>
          )}
          <PendingCard
            call={call}
            onSeen={(one, isSeen) => isSeen && setSeen((before) => new Set(before).add(keyOf(one)))}
            {...(isTogether && {
              isChosen: !left.has(keyOf(call)),
              onChoose: (one: WaitingCall, isChosen: boolean) =>
                setLeft((before) => toggled(before, keyOf(one), !isChosen)),
            })}
          />
        </Fragment>
      ))}
    </div>
  )
}

interface TogetherProps {
  readonly marked: number
  readonly all: number
  readonly unseen: number
  readonly isSending: boolean
  readonly report: string
  readonly onAnswer: (decision: 'allow' | 'deny') => Promise<void>
}

/** The buttons for all marked approvals. None is allowed that was not in sight before. */
function Together({ marked, all, unseen, isSending, report, onAnswer }: TogetherProps) {
  const bar = useRef<HTMLDivElement>(null)
  const isActive = useArmed(bar) && marked > 0 && !isSending
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset would have a legend and a border
    <div ref={bar} class="pending-together" role="group" aria-label="Answer several together">
      <span>
        {`${marked} of ${all} approvals marked`}
        {unseen > 0 && <span class="facts">{` · ${unseen} not seen yet: scroll down`}</span>}
      </span>
      <span class="card-buttons">
        <button type="button" class="deny" disabled={!isActive} onClick={() => onAnswer('deny')}>
          {`Deny ${marked}`}
        </button>
        <button type="button" class="allow" disabled={!isActive || unseen > 0} onClick={() => onAnswer('allow')}>
          {`Allow ${marked} once`}
        </button>
      </span>
      <p class="facts" role="status">
        {report}
      </p>
    </div>
  )
}

/** A call is another one if what would run is another. */
const keyOf = ({ session, callId, digest }: WaitingCall): string => `${session}\n${callId}\n${digest}`

function toggled(before: ReadonlySet<string>, key: string, isIn: boolean): ReadonlySet<string> {
  const next = new Set(before)
  if (isIn) next.add(key)
  else next.delete(key)
  return next
}
