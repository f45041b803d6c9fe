import { isChildOf } from '../../core/fork.ts'
import type { Session } from '../../core/store.ts'
import type { Engine } from '../engine/make-engine.ts'
import { noteAmong } from '../instance-note.ts'
import type { Waiting } from './waiting-calls.ts'

export interface LostToolCheck {
  readonly call: Pick<Waiting, 'callId' | 'name' | 'isQuestion'>
  /** Where the call is: the agent's session, or a sub-agent's. */
  readonly asking: Session
  readonly root: Session
  readonly definitionId: string
  readonly engine: Pick<Engine, 'lacks'>
}

/**
 * Throws where what is said to a call would be lost: a definition has changed since, and nobody is there to take it. Only
 * where that is certain.
 */
export function refuseLostTool({ call, asking, root, definitionId, engine }: LostToolCheck): void {
  if (asking.id !== root.id) {
    const rest = asking.id.slice(root.id.length + 1)
    const [name = rest] = rest.split('/')
    const above = root.log.transcript.openCalls.find(({ id }) => isChildOf(name, id))
    if (above && engine.lacks(above.name)) throw new Error(lostWords(call, above.name, definitionId))
  }
  if (!asking.log.transcript.hasCall(call.callId)) return // a tool made it, which may have tools of its own
  const ofSubAgent = asking.id === root.id ? undefined : noteAmong(asking.log.transcript.states)
  if (asking.id !== root.id && !ofSubAgent) return
  if (engine.lacks(call.name, ofSubAgent))
    throw new Error(lostWords(call, call.name, ofSubAgent?.definitionId ?? definitionId))
}

function lostWords({ callId, isQuestion }: LostToolCheck['call'], tool: string, definitionId: string): string {
  const what = isQuestion ? 'the answer to question' : 'the permission for call'
  const otherwise = isQuestion ? 'or send the agent a message, which leaves the question behind' : 'or deny the call'
  return `the definition "${definitionId}" has no tool "${tool}" any more, so ${what} "${callId}" would be lost, and was not taken; give it the tool again, ${otherwise}`
}
