import { messageOf } from '../core/errors.ts'
import { sleep } from '../core/waiting.ts'
import type { AnswerRow } from '../view/rows.ts'
import { type AttachedSession, attachSession } from './attached-session.ts'
import type { ChatHost, ChatSettings } from './chat.ts'
import type { Changes, ChatStateCell } from './chat-state.ts'

interface AttachedTo {
  readonly cell: ChatStateCell
  /** Whether the chat still shows this session. */
  isCurrent(session: AttachedSession): boolean
}

/** Follows a session of another process, and shows in the state of a chat what happens there. */
export async function attachToChat(
  host: ChatHost,
  id: string,
  { cell, isCurrent }: AttachedTo,
): Promise<AttachedSession> {
  if (!host.store) throw new Error('This chat has no store, so it cannot join a session of another process')
  const session = await attachSession(host.store, id, {
    ...host,
    onError: (error) => cell.notify({ kind: 'failure', text: messageOf(error) }),
    onChange() {
      if (!isCurrent(session)) return
      const { phase } = cell.now
      if (isAtWork(session) === (phase === 'idle')) cell.change({ phase: phase === 'idle' ? 'running' : 'idle' })
      const { run } = session.view
      if (run && run.model !== cell.now.settings.model.model) cell.change({ settings: settingsOf(session) })
      cell.show(session.view)
    },
    onDeath() {
      if (!isCurrent(session)) return
      cell.notify({ kind: 'warning', text: deathNotice })
      cell.change({ phase: 'idle', isResumable: true })
    },
  })
  return session
}

const deathNotice = 'The process that worked on this session has ended; the session can be continued here'

/** Waits until a session is free: a process whose run has ended releases it a moment later. If it does not, opening the session fails with the reason. */
export async function untilFree({ store, clock }: ChatHost, id: string): Promise<void> {
  for (let tries = 0; tries < 30 && (await store?.find(id))?.isHeld; tries++) await sleep(100, clock && { clock })
}

/** Whether a process works on the session. */
export const isAtWork = ({ view, isDead }: AttachedSession): boolean => view.run !== undefined && !isDead

/** The state of a chat that begins to show the session. */
export function attachedState(session: AttachedSession): Changes {
  const { id, view, earlierTurns } = session
  return {
    ...{ phase: isAtWork(session) ? 'running' : 'idle', view, sessionId: id, isAttached: true },
    ...{ earlierTurns: earlierTurns || undefined, warning: 'attached', isResumable: undefined, forecast: undefined },
    settings: settingsOf(session),
  }
}

/** What the log tells of the other process: the model of its run or of the last answer, and the folder. */
function settingsOf({ view }: AttachedSession): ChatSettings {
  const { run, rows, details } = view
  const answer = rows.slice().findLast((row): row is AnswerRow => row.kind === 'answer' && row.model !== undefined)
  return {
    model: { provider: answer?.provider ?? '', model: run?.model ?? answer?.model ?? '' },
    ...(details.folder !== undefined && { folder: details.folder }),
  }
}
