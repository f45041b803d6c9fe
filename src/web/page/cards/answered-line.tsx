import { Link } from '../frame/link.tsx'
import { usePage } from '../frame/page-context.ts'
import { fullyVisible, type RemotePendingCall, visibleName } from '../libero.ts'
import { useModel } from '../model/model.ts'
import { useAnswer } from '../parts/use-answer.ts'

/** A call that waits no more: what was decided, and by whom. */
export function AnsweredLine({ call }: { readonly call: RemotePendingCall }) {
  const { client, sessions } = usePage()
  const { session, root, title, name, callId } = call
  // The log has the answer a little after the call waits no more: it is read again when the log grows.
  const head = useModel(sessions, (state) => state.sessions?.find(({ id }) => id === root)?.head)
  const { value } = useAnswer(() => client.sessions.why(session, callId), [session, callId, head])
  return (
    <li class="answered-line">
      <span class={`mark mark-${markNames[value?.answer?.decision ?? ''] ?? 'idle'}`} aria-hidden="true">
        {marks[value?.answer?.decision ?? ''] ?? '·'}
      </span>
      <span>{fullyVisible(name)}</span>
      <span class="facts">{outcomeWords(value?.answer, call.isQuestion)}</span>
      <Link to={{ screen: 'session', id: root, part: 'chat' }}>{visibleName(title ?? root)}</Link>
    </li>
  )
}

const marks: Readonly<Record<string, string>> = { allow: '✓', deny: '⊘' }
const markNames: Readonly<Record<string, string>> = { allow: 'done', deny: 'refused' }

/** What became of a call, in words. */
export function outcomeWords(
  answer: { readonly decision?: string; readonly by?: string } | undefined,
  isQuestion: boolean,
): string {
  if (!answer) return isQuestion ? 'answered' : 'waits no more'
  const verb = isQuestion ? 'answered' : (verbs[answer.decision ?? ''] ?? 'answered')
  return answer.by === undefined ? verb : `${verb} by ${visibleName(answer.by)}`
}

const verbs: Readonly<Record<string, string>> = { allow: 'allowed', deny: 'denied', expired: 'expired' }
