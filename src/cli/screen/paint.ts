import type { Io, Output } from '../io.ts'

/** Makes a text style like something; gives it back as it is where there are no colours. */
export type Paint = Readonly<Record<StyleName, (text: string) => string>>

type StyleName = 'bold' | 'dim' | 'italic' | 'underline' | 'red' | 'green' | 'yellow' | 'blue' | 'cyan'

/** A paint with colours, or one that changes nothing. */
export function createPaint({ colours }: { readonly colours: boolean }): Paint {
  const entries = Object.entries(codes).map(([style, [on, off]]) => [style, colours ? brush(on, off) : plain])
  return Object.fromEntries(entries) as Paint
}

/** Whether an output shows colours: a terminal does, unless somebody said otherwise. `NO_COLOR` has the last word. */
export function hasColours({ isTTY }: Pick<Output, 'isTTY'>, env: Io['env']): boolean {
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
}

const plain = (text: string): string => text

/** Each line is painted by itself, so that a line can be shown without its neighbours. */
function brush(on: number, off: number): (text: string) => string {
  const [begin, end] = [`\x1b[${on}m`, `\x1b[${off}m`]
  const line = (text: string): string => (text === '' ? '' : `${begin}${text.replaceAll(end, `${end}${begin}`)}${end}`)
  return (text) => (text.includes('\n') ? text.split('\n').map(line).join('\n') : line(text))
}
