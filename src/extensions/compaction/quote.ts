import { digestOf } from '../../platform/digest.ts'
import { encloseSealed, sealUntrusted } from '../../platform/envelope.ts'

/** What a tool gave, for a place among other text: in an envelope that it cannot close, so that it poses as nobody. */
export interface Quote {
  /** May be cut before it is wrapped. */
  readonly text: string
  wrap(text: string): string
}

export function quoteOf(output: string, tool: string): Quote {
  const { text, hidden } = sealUntrusted(output)
  // The same history has to give the same bytes. No text can contain its own digest.
  const nonce = digestOf(text).slice(0, 16)
  return { text, wrap: (piece) => encloseSealed(piece, { origin: `tool:${tool}`, nonce, hidden }) }
}
