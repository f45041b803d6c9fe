import type { StopReason } from '../../src/core/provider.ts'

/** What a decoder read from an answer, in a common form. */
export interface Outcome {
  readonly text: string
  readonly thinking: string
  /** Only calls that the client must run. */
  readonly calls: readonly Call[]
  /** `cut`: the answer has no end. */
  readonly stop: StopReason | 'cut'
  readonly usage?: Usage
  /** Why it could not be read, or what the service says went wrong. */
  readonly failure?: string
  /** It holds something that could not be read; an error of the service does not count. */
  readonly isUnread?: boolean
  /** It was no stream at all, but an error with a status. */
  readonly isRefused?: boolean
}

export interface Call {
  readonly name: string
  /** Parsed where it can be. */
  readonly input: unknown
}

/** Undefined counts were not reported; unreported cache tokens are part of `input`. */
export interface Usage {
  readonly input: number | undefined
  readonly output: number | undefined
  readonly cacheRead: number | undefined
  readonly cacheCreation: number | undefined
}

/** Nothing at all means an empty object, as services send it for tools without parameters. */
export function readInput(input: unknown): unknown {
  if (typeof input !== 'string') return input
  if (input.trim() === '') return {}
  try {
    return JSON.parse(input)
  } catch {
    return input
  }
}
