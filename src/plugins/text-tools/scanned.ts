import type { TextCallPattern } from './text-call-pattern.ts'

/** A call as it was written. */
export interface ScannedCall {
  readonly name: string
  /** Its opening tag, what stands between the tags, and its closing tag, as far as they are there. */
  readonly words: readonly [head: string, body: string, tail: string]
  /** Its name stands between the tags, beside the parameters. */
  readonly nameIn?: 'json'
  readonly isParallel: boolean
}

/**
 * What a text is made of, in order. A `gap` stands beside a call and is neither: spaces, the parallel wrapper, a fence
 * around calls. After a `start` comes its `call`, or `void` where it never was complete; then it follows as text.
 * The gap before a call is told just before the `call`. With a `thought` all that came before it, calls too, turns out
 * to have been one.
 */
export type Scanned =
  | { readonly type: 'text' | 'gap' | 'args'; readonly text: string }
  | { readonly type: 'start'; readonly name: string }
  | { readonly type: 'call'; readonly call: ScannedCall }
  | { readonly type: 'void' | 'thought' }

export interface ScanOptions {
  readonly patterns: readonly TextCallPattern[]
  /** Calls in a fence count only if they are for a tool that is there. Default: all are. */
  readonly isKnown?: (name: string) => boolean
  /** False inside a fence. */
  readonly fences?: boolean
}
