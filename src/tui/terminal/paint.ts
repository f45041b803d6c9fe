import type { Output, TerminalStreams } from './output.ts'
import { paletteCodes, type Theme } from './theme.ts'

/** Functions that style a text; without colours they return it unchanged. */
export type Paint = Readonly<Record<StyleName, (text: string) => string>>

type StyleName = 'bold' | 'dim' | 'italic' | 'underline' | 'red' | 'green' | 'yellow' | 'blue' | 'cyan' | 'inverse'

/** `theme` is asked for each text, so that the person can change it. */
export function createPaint({ colours, theme }: { readonly colours: boolean; readonly theme?: () => Theme }): Paint {
  const entries = Object.entries(codes).map(([style, code]) => {
    if (!colours) return [style, plain]
    const role = roles[style as StyleName]
    const usual = brush(...code)
    if (!theme || !role) return [style, usual]
    return [style, (text: string): string => brushes[theme()[role] ?? '']?.(text) ?? usual(text)]
  })
  return Object.fromEntries(entries) as Paint
}

/** What the colours mean; a theme may have others for it. */
const roles: Partial<Record<StyleName, keyof Theme>> = {
  cyan: 'accent',
  green: 'good',
  red: 'bad',
  yellow: 'warning',
  blue: 'plan',
  dim: 'quiet',
}

/** Whether an output gets colours: terminals do, unless the environment says otherwise. `NO_COLOR` overrules `FORCE_COLOR`. */
export function hasColours({ isTTY }: Pick<Output, 'isTTY'>, env: TerminalStreams['env']): boolean {
  const { NO_COLOR: no, FORCE_COLOR: force, TERM: term } = env
  if (no) return false
  if (force !== undefined) return force !== '0' && force !== 'false'
  return isTTY === true && term !== 'dumb'
}

const codes: Readonly<Record<StyleName, readonly [on: number, off: number]>> = {
  bold: [1, 22],
  dim: [2, 22],
  italic: [3, 23],
  underline: [4, 24],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  blue: [34, 39],
  cyan: [36, 39],
  inverse: [7, 27],
}

const plain = (text: string): string => text

/** Paints each line separately, so that lines can be shown one by one. */
function brush(on: number, off: number): (text: string) => string {
  const [begin, end] = [`\x1b[${on}m`, `\x1b[${off}m`]
  const line = (text: string): string => (text === '' ? '' : `${begin}${text.replaceAll(end, `${end}${begin}`)}${end}`)
  return (text) => (text.includes('\n') ? text.split('\n').map(line).join('\n') : line(text))
}

const brushes: Readonly<Record<string, (text: string) => string>> = Object.fromEntries(
  Object.entries(paletteCodes).map(([name, code]) => [name, brush(code, 39)]),
)
