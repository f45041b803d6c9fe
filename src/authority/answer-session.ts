import type { ApprovalExtent } from '../core/authority.ts'
import { denialsText, isDenied, readEditDecisions } from '../core/edit-outcomes.ts'
import { CodedError } from '../core/errors.ts'
import { questionAbout } from '../core/interaction.ts'
import type { PendingCall, Session } from '../core/store.ts'
import { extentOf } from './ask-person.ts'
import { type AnswerKey, requireKey } from './grants/answer-key.ts'

/** The answer to a call that waits in a session. */
export interface SessionAnswer extends ApprovalExtent {
  readonly decision: 'allow' | 'deny'
  readonly by?: string
  /** For the model. */
  readonly note?: string
}

/** Answers a call that waits in a session, from any process. An `allow` is signed with the key. */
export async function answerSession(
  session: Session,
  callId: string,
  answer: SessionAnswer,
  key: AnswerKey,
): Promise<void> {
  const pending = session.pending.find((one) => one.callId === callId)
  if (pending?.decision)
    throw new CodedError(
      'Session/InteractionAlreadyAnswered',
      `call "${callId}" was answered before with "${pending.decision}"; the first answer counts`,
    )
  const { by = 'user', note, ...given } = withCheckedEdits(answer, pending)
  const { decision } = given
  if (decision === 'allow') requireKey(callId, key, pending)
  const extent = decision === 'allow' ? extentOf(given) : {}
  const signed = { sessionId: session.id, callId, digest: pending?.digest ?? '', decision, by, ...extent }
  const mac = decision === 'allow' && { mac: key.sign(signed) }
  await session.answer(callId, { decision, by, ...extent, ...mac, ...(note !== undefined && { content: note }) })
}

/** An answer that allows no edit denies the call. Throws unless it decides about each edit of the call. */
function withCheckedEdits(answer: SessionAnswer, pending: PendingCall | undefined): SessionAnswer {
  if (answer.edits === undefined || answer.decision === 'deny') return answer
  const asked = questionAbout(pending?.request, pending?.callId ?? '')
  const edits = readEditDecisions(answer.edits, Number(asked.edits ?? 0))
  if (!edits.every(isDenied)) return { ...answer, edits }
  const { by, note = denialsText(edits) } = answer
  return { decision: 'deny', ...(note !== '' && { note }), ...(by !== undefined && { by }) }
}
