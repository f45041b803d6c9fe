import type { SessionState } from './summary.ts'

/** A state in words, for people. */
export const stateWords: Readonly<Record<SessionState, string>> = {
  empty: 'empty',
  done: 'done',
  waiting: 'waits for you',
  answered: 'answered, resume it',
  running: 'running elsewhere',
  open: 'interrupted',
  interrupted: 'interrupted',
  limited: 'stopped by a limit',
  failed: 'failed',
  parked: 'parked',
}
