import { useState } from 'preact/hooks'
import { usePage } from '../frame/page-context.ts'
import { type RemoteAnswer, type RemoteClient, RemoteProblem } from '../libero.ts'
import type { PageModel } from '../model/page-model.ts'
import { outcomeWords } from './answered-line.tsx'
import type { WaitingCall } from './pending-card.tsx'

/** How far an answer is. `sent`: the server has it, and the log says when it counts. `closed`: another answer counted. */
export type Answering =
  | { readonly state: 'open'; readonly problem?: string }
  | { readonly state: 'sending' | 'sent' | 'closed'; readonly words: string }

/** Sends the answer to a call. The card stays until the call waits no more; only the log closes it. */
export function useAnswering(
  call: WaitingCall,
): readonly [Answering, (answer: RemoteAnswer, words: string) => Promise<void>] {
  const page = usePage()
  const [answering, setAnswering] = useState<Answering>({ state: 'open' })
  const send = async (answer: RemoteAnswer, words: string): Promise<void> => {
    setAnswering({ state: 'sending', words })
    setAnswering(await sendAnswer(page, call, answer, words))
    page.sessions.refreshPending().catch(() => {}) // offline: read again when connected
  }
  return [answering, send]
}

/** Sends one answer and says what became of it. */
export async function sendAnswer(
  { client }: PageModel,
  call: WaitingCall,
  answer: RemoteAnswer,
  words: string,
): Promise<Answering> {
  try {
    if (call.agent) await answerAgent(client, call.agent, { ...answer, digest: call.digest })
    else await client.answer(call, answer)
    call.agent?.onAnswered()
    return { state: 'sent', words }
  } catch (error) {
    if (!(error instanceof RemoteProblem)) throw error
    if (error.code === 'answered_before' || error.code === 'no_call')
      return { state: 'closed', words: await whoAnswered(client, call) }
    if (error.code === 'other_digest')
      return { state: 'open', problem: 'What waits has changed since it was shown. Look at it again.' }
    if (error.status === 0)
      return { state: 'open', problem: `It is not known whether the answer arrived: ${error.detail}` }
    return { state: 'open', problem: error.detail }
  }
}

/** Agents know neither places nor single edits; the card does not offer them. */
const answerAgent = (
  client: RemoteClient,
  { id, approvalId }: NonNullable<WaitingCall['agent']>,
  { where: _, edits: __, ...answer }: RemoteAnswer & { readonly digest: string },
): Promise<void> => client.agents.answer(id, approvalId, answer)

/** An answer of another browser or a terminal counted: which one, and whose. */
async function whoAnswered(client: RemoteClient, { session, callId, isQuestion }: WaitingCall): Promise<string> {
  const { answer } = await client.sessions.why(session, callId).catch(() => ({ answer: undefined }))
  const what = answer ? outcomeWords(answer, isQuestion) : 'answered elsewhere'
  return `It was ${what} before; the first answer counts.`
}
