import {
  LeaseLostError,
  SessionBusyError,
  SessionNotFoundError,
  type SessionParkedError,
  type StoreError,
} from '../../core/errors.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import type { ExplainContext } from '../explain-failure.ts'

/** Explains a failure of the session store. */
export function explainStore({ code, message }: StoreError, { safe }: Pick<ExplainContext, 'safe'>): string {
  const [what, next] = stores[code]
  return `${what}: ${next} (${safe(message.replace(forPrograms, ''))})`
}

/** Advice for programs, and what the explanation says already. */
const forPrograms =
  /\. Copy what is readable.*|; pass .*$|: nothing was written; free some space, then go on|: nothing was written; check the rights[^(]*(?= \()/s
const without = 'or run without a session: --no-session'
const stores: Readonly<Record<StoreError['code'], readonly [what: string, next: string]>> = {
  full: ['there is no space for the session', `free some space on the disk, then: libero --continue, ${without}`],
  read_only: ['the sessions cannot be written', `check the owner and the permissions of their folder, ${without}`],
  busy: ['another program locks the sessions for too long', 'end it, or try again'],
  corrupt: [
    'the sessions cannot be read',
    'move the file elsewhere to start with a new one; docs/sessions.md says how to recover what is readable',
  ],
  newer: ['the sessions were written by a newer Libero', `update this one, ${without}`],
  network_fs: [
    'the sessions are on a network drive, where they could be damaged',
    `set LIBERO_HOME, or "sessions" in the config, to a folder of this machine, ${without}`,
  ],
  unavailable: ['the session store does not answer', `try again, check where it is (libero config), ${without}`],
  denied: ['the session store denies access', `check the token or the permissions (libero config), ${without}`],
}

/** Explains that another program has the session, or that it is parked. */
export function explainLease(
  error: SessionBusyError | SessionParkedError | LeaseLostError,
  context: ExplainContext,
): string {
  const [, found] = /^Session (\S+)/.exec(error.message) ?? []
  const id = context.safe(context.sessionId ?? found ?? '<id>')
  if (error instanceof SessionBusyError) {
    const owner = error.owner === undefined ? 'another program' : `another program (${context.safe(error.owner)})`
    return `session ${id} is being written by ${owner}: wait for it, or continue in a copy: libero --resume ${id} --fork`
  }
  if (error instanceof LeaseLostError)
    return `another program took over or deleted session ${id}: to continue it when that program has ended: libero --resume ${id}`
  const [, why = 'it failed repeatedly'] = / is parked: (.*)\. Call session/s.exec(error.message) ?? []
  return `session ${id} is parked (${context.safe(why)}): to try it again: libero sessions resume ${id} --unpark`
}

/** Explains that a session does not exist. */
export function explainMissing(error: unknown): string | undefined {
  if (!(error instanceof SessionNotFoundError)) return undefined
  return `there is no session "${fullyVisible(error.sessionId)}": list them with: libero sessions`
}
