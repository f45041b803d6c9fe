import type { StopSignal } from './io.ts'

/** A failure with a message for a person, which names the next step, and an exit code. */
export class CliError extends Error {
  readonly exitCode: number
  constructor(message: string, exitCode: number = exitCodes.error, options?: ErrorOptions) {
    super(message, options)
    this.name = new.target.name
    this.exitCode = exitCode
  }
}

/** The command was called with invalid arguments or settings. */
export class UsageError extends CliError {
  /** The command whose help to refer to, if it is not the one that was called. */
  readonly see?: string
  constructor(message: string, options: ErrorOptions & { readonly see?: string } = {}) {
    super(message, exitCodes.usage, options)
    if (options.see !== undefined) this.see = options.see
  }
}

/** The exit codes of `libero`; scripts rely on them. */
export const exitCodes = {
  done: 0,
  error: 1,
  usage: 2,
  /** A call needs an approval, and there was no person to ask. The session waits for the answer. */
  permission: 3,
  budget: 4,
  hungUp: 129,
  interrupted: 130,
  /** The reader of stdout closed it. */
  closed: 141,
  terminated: 143,
} as const

/** The exit code for each signal. */
export const stopCodes: Readonly<Record<StopSignal, number>> = {
  SIGINT: exitCodes.interrupted,
  SIGTERM: exitCodes.terminated,
  SIGHUP: exitCodes.hungUp,
}
