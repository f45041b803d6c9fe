import {
  LeaseLostError,
  messageOf,
  SessionBusyError,
  type SessionParkedError,
  type StoreError,
} from '../../core/errors.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import type { ExplainContext } from '../explain-failure.ts'

/** The place where sessions are kept cannot do what it should. */
export function explainStore({ code, message }: StoreError, { foreign }: Pick<ExplainContext, 'foreign'>): string {
  const [what, next] = stores[code]
  return `${what}: ${next} (${foreign(message.replace(forPrograms, ''))})`
}

/** What a program could do about it, and what is said anyway. */
const forPrograms =
  /\. Copy what is readable.*|; pass .*$|: nothing was written; free some space, then go on|: nothing was written; check the rights[^(]*(?= \()/s
const without = 'or keep no session: --no-session'
const stores: Readonly<Record<StoreError['code'], readonly [what: string, next: string]>> = {
  full: ['there is no room for the session', `free some space on the disk, then: libero --continue, ${without}`],
  read_only: ['the sessions may not be written', `check who owns their folder and may write it, ${without}`],
  busy: ['another program holds the sessions too long', 'end it, or try again'],
  corrupt: [
    'the sessions cannot be read',
    'move the file away to begin with a new one; docs/sessions.md says how to rescue what is readable',
  ],
  newer: ['the sessions were written by a newer Libero', `update this one, ${without}`],
  network_fs: [
    'the sessions lie on a network drive, where they would be damaged',
    `set LIBERO_HOME, or "sessions" in the config, to a folder of this machine, ${without}`,
  ],
  unavailable: ['the sessions cannot be reached', `check where they are kept (libero config), ${without}`],
  denied: ['the sessions are kept from us', `check the token or the rights (libero config), ${without}`],
}

/** Somebody else has the session, or nobody should. */
export function explainLease(
  error: SessionBusyError | SessionParkedError | LeaseLostError,
  by: ExplainContext,
): string {
  const [, found] = /^Session (\S+)/.exec(error.message) ?? []
  const id = by.foreign(by.sessionId ?? found ?? '<id>')
  if (error instanceof SessionBusyError) {
    const owner = error.owner === undefined ? 'another program' : `another program (${by.foreign(error.owner)})`
    return `session ${id} is being written by ${owner}: wait for it, or work in a copy: libero --resume ${id} --fork`
  }
  if (error instanceof LeaseLostError)
    return `another program took session ${id} over, or deleted it: to go on with it when that has ended: libero --resume ${id}`
  const [, why = 'it failed again and again'] = / is parked: (.*)\. Call session/s.exec(error.message) ?? []
  return `session ${id} is parked (${by.foreign(why)}): to try it again: libero sessions resume ${id} --unpark`
}

/** A session that is not there. */
export function explainMissing(error: unknown): string | undefined {
  const [, id] = /^There is no session "(.*?)" in this store/.exec(messageOf(error)) ?? []
  return id === undefined
    ? undefined
    : `there is no session "${fullyVisible(id)}": see those there are with: libero sessions`
}
