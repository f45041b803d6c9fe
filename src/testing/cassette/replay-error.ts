import { AgentProviderError } from '../../core/errors.ts'

export interface Difference {
  /** Which model request it is, counted from 1 as recorded; absent for what is none. */
  readonly step?: number
  /** `system`, `messages[3]`, `tools`, `settings`, `model`, or the input of a tool. */
  readonly field?: string
  /** The first line of the field that differs, counted from 1. */
  readonly line?: number
  /** What was recorded and what came, as a unified diff. */
  readonly diff?: string
}

/** A replay came to something else than was recorded. An error of the provider, so that no run goes on after it. */
export class ReplayError extends AgentProviderError {
  readonly step?: number
  readonly field?: string
  readonly line?: number
  readonly diff?: string
  constructor(message: string, { step, field, line, diff }: Difference = {}) {
    super(message, { provider: 'replay', retryable: false })
    if (step !== undefined) this.step = step
    if (field !== undefined) this.field = field
    if (line !== undefined) this.line = line
    if (diff !== undefined) this.diff = diff
  }
}
