import type { Tokens } from 'marked'
import type { Canvas } from '../block-painter.ts'
import { inlineSpans } from '../inline.ts'
import { wrapSpans } from '../spans.ts'

/** The first two levels stand out from the others. */
export function heading({ depth, tokens }: Tokens.Heading, { paint, width }: Canvas): string[] {
  const look = depth <= 2 ? (text: string) => paint.bold(paint.underline(text)) : paint.bold
  return wrapSpans(inlineSpans(tokens, paint, look), width)
}
