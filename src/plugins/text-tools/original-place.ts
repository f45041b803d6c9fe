import type { Refusal } from '../../core/provider.ts'
import type { Message } from '../../core/turn.ts'
import { partsBeyondText } from './result-text.ts'

/** A conversation as it was given, and as it was sent. */
export interface Told {
  readonly given: readonly Message[]
  readonly sent: readonly Message[]
}

/** A place in what was sent, as a place in what was given; without a block where several became one. */
export function originalPlace<Place extends Refusal>(place: Place, told: Told): Place {
  const { message = -1, block } = place
  if (block === undefined || told.given[message] === told.sent[message]) return place
  const { block: _, ...whole } = place
  const found = originalBlock(told.given[message], block)
  return (found === undefined ? whole : { ...whole, block: found }) as Place
}

/** Each result became a text and what follows it. */
function originalBlock(given: Message | undefined, block: number): number | undefined {
  if (given?.role !== 'user') return undefined
  let left = block
  for (const [i, one] of given.content.entries()) {
    left -= one.type === 'tool_result' ? 1 + partsBeyondText(one.output).length : 1
    if (left < 0) return i
  }
  return undefined
}
