import type { StopSignal } from './io.ts'

/** A failure with its one sentence for a person, its next step, and the exit code it means. */
export class CliError extends Error {
  readonly exitCode: number
  constructor(message: string, exitCode: number = exitCodes.error, options?: ErrorOptions) {
    super(message, options)
    this.name = new.target.name
    this.exitCode = exitCode
  }
}

/** It was called in a way that means nothing. */
export class UsageError extends CliError {
  /** The command whose help says more, where it is not the one that was called. */
  readonly see?: string
  constructor(message: string, options: ErrorOptions & { readonly see?: string } = {}) {
    super(message, exitCodes.usage, options)
    if (options.see !== undefined) this.see = options.see
  }
}

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
