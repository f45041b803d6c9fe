import type { Chat } from '../chat/chat.ts'
import type { EntryOf } from '../core/log.ts'
import { AcpError } from './acp-error.ts'
import type { StopReason } from './protocol.ts'

/** How the runs of one prompt ended. */
export interface RunEnds {
  /** Why the last run stopped. Throws if it failed, or could not begin. */
  stopReason(): StopReason
  close(): void
}

/** Begins to watch the agent of a chat, before the prompt is sent. */
export function watchRuns(chat: Pick<Chat, 'agent' | 'state'>): RunEnds {
  let ended: EntryOf<'run_ended'> | undefined
  let reply: EntryOf<'turn'>['stop']
  const seen = chat.state.notices.at(-1)?.id ?? 0
  const close = chat.agent?.agent.log.subscribe((entry) => {
    if (entry.type === 'run_ended') ended = entry
    if (entry.type === 'turn' && entry.turn.role === 'assistant') reply = entry.stop
  })
  return {
    close: () => close?.(),
    stopReason() {
      if (!ended) {
        const failure = chat.state.notices.find(({ id, kind }) => id > seen && kind === 'failure')
        if (failure) throw new AcpError('failed', failure.text)
        return 'end_turn' // a command that asked no model
      }
      const { status, stop, error } = ended
      if (status === 'error')
        throw new AcpError(error?.name === 'AgentAuthError' ? 'no login' : 'failed', error?.message ?? stop)
      if (status === 'aborted' || status === 'left') return 'cancelled'
      if (limits.has(stop)) return 'max_turn_requests'
      if (reply === 'length') return 'max_tokens'
      return reply === 'refusal' ? 'refusal' : 'end_turn'
    },
  }
}

/** The limits that end a run as completed. */
const limits: ReadonlySet<string> = new Set(['max_turns', 'budget'])
