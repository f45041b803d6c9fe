import { exitCodes } from './exit-codes.ts'

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
