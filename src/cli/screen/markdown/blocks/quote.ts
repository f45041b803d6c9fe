import type { Tokens } from 'marked'
import { type Canvas, narrowest } from '../block-painter.ts'

/** What somebody else said, with a bar beside it; another one than our own questions have. */
export function quote({ tokens }: Tokens.Blockquote, { blocks, paint, width }: Canvas): string[] {
  const bar = paint.dim('▌')
  return blocks(tokens, Math.max(narrowest, width - 2)).map((line) => (line === '' ? bar : `${bar} ${line}`))
}
