import type { Token } from 'marked'
import type { Paint } from '../paint.ts'

/** What a painter of one kind of block has to work with. */
export interface Canvas {
  readonly width: number
  readonly paint: Paint
  /** Blocks inside of this one, as lines of at most so many columns. */
  blocks(tokens: readonly Token[], width: number, spacing?: 'tight' | 'loose'): string[]
}

/** Narrower than this nothing is wrapped: words in pieces of two letters help nobody. */
export const narrowest = 8
