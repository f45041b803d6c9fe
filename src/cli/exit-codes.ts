import type { StopSignal } from './io.ts'

/** What `libero` ends with; scripts rely on these. */
export const exitCodes = {
  done: 0,
  error: 1,
  usage: 2,
  /** Somebody has to allow something, and nobody could be asked. The session waits for the answer. */
  permission: 3,
  budget: 4,
  hungUp: 129,
  interrupted: 130,
  /** Whoever read the answer went away. */
  closed: 141,
  terminated: 143,
} as const

/** What a signal ends a program with. */
export const stopCodes: Readonly<Record<StopSignal, number>> = {
  SIGINT: exitCodes.interrupted,
  SIGTERM: exitCodes.terminated,
  SIGHUP: exitCodes.hungUp,
}
