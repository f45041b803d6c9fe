import { calls } from './calls.ts'
import type { Poison } from './kit.ts'
import { media } from './media.ts'
import { texts } from './texts.ts'
import { thinking } from './thinking.ts'

/** Logs that would be refused as they are, by one service or another. */
export const poisons: readonly Poison[] = [...texts, ...thinking, ...calls, ...media]
