import type { Tokens } from 'marked'
import { visibleText } from '../../../../platform/visible-text.ts'
import { diffLine } from '../../diff-lines.ts'
import type { Paint } from '../../paint.ts'
import type { Canvas } from '../block-painter.ts'

/** Code, indented and never broken: it is there to be copied. */
export const code = ({ text, lang }: Tokens.Code, { paint }: Canvas): string[] => codeLines(text, lang, paint)

/** The same for some lines of it. */
export function codeLines(text: string, lang: string | undefined, paint: Paint): string[] {
  const look = lang === 'diff' || lang === 'patch' ? (line: string) => diffLine(line, paint) : paint.cyan
  const shown = visibleText(text).replaceAll('\r', '').replaceAll('\t', '    ')
  return shown.split('\n').map((line) => (line === '' ? '' : `  ${look(line)}`))
}
