import type { Token } from 'marked'
import type { Canvas } from '../block-painter.ts'
import { inlineSpans } from '../inline.ts'
import { wrapSpans } from '../spans.ts'

/** Running text, also that of a list item. */
export function paragraph(tokens: readonly Token[] | undefined, { paint, width }: Canvas): string[] {
  return wrapSpans(inlineSpans(tokens, paint), width)
}
