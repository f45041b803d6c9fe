import type { IBufferCell, Terminal } from '@xterm/headless'

interface PictureOptions {
  /** For those who cannot see the picture. */
  readonly title: string
  readonly cursor: { readonly row: number; readonly column: number; readonly isVisible: boolean }
}

/** The visible rows of a terminal as an SVG picture, light or dark as the reader's system is. */
export function screenSvg(terminal: Terminal, { title, cursor }: PictureOptions): string {
  const { active } = terminal.buffer
  const rows = Array.from({ length: terminal.rows }, (_, i) => active.getLine(active.baseY + i)!)
  const last = rows.findLastIndex((row) => row.translateToString(true) !== '')
  const lines = rows.slice(0, last + 1).map((row, i) => {
    const runs = runsOf(terminal.cols, (x) => row.getCell(x))
    const spans = runs.map(({ x, text, style }) => `<tspan x="${left(x)}"${classOf(style)}>${escaped(text)}</tspan>`)
    return spans.length === 0 ? '' : `<text y="${top(i)}">${spans.join('')}</text>\n`
  })
  const width = left(terminal.cols) + margin
  const height = top(last) + margin + 4
  const caret = cursor.isVisible
    ? `<rect class="caret" x="${left(cursor.column)}" y="${top(cursor.row - active.baseY) - 13}" width="2" height="17"/>\n`
    : ''
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" xml:space="preserve">
<title>${escaped(title)}</title>
<style>${css}</style>
<rect class="screen" x="0.5" y="0.5" width="${width - 1}" height="${height - 1}" rx="8"/>
${lines.join('')}${caret}</svg>
`
}

const margin = 16
const left = (column: number): number => Number((margin + column * 8.43).toFixed(2))
const top = (row: number): number => margin + 14 + row * 20

/** Cells of one style that follow each other. */
function runsOf(columns: number, cellAt: (x: number) => IBufferCell | undefined) {
  const runs: { x: number; text: string; style: string }[] = []
  for (let x = 0; x < columns; x++) {
    const cell = cellAt(x)
    if (!cell || cell.getWidth() === 0) continue
    const style = styleOf(cell)
    const text = cell.getChars() || ' '
    const run = runs.at(-1)
    if (run && run.style === style) run.text += text
    else if (text !== ' ' || style.includes('i')) runs.push({ x, text, style })
    else runs.push({ x, text: ' ', style })
  }
  return runs
    .map((run) => ({ ...run, text: run.style.includes('i') ? run.text : run.text.trimEnd() }))
    .filter(({ text }) => text !== '')
}

/** Names of classes: `b` bold, `d` dim, `i` inverse, `t` italic, `u` underlined, and a colour of the palette. */
function styleOf(cell: IBufferCell): string {
  const names = [
    cell.isBold() ? 'b' : '',
    cell.isDim() ? 'd' : '',
    cell.isInverse() ? 'i' : '',
    cell.isItalic() ? 't' : '',
    cell.isUnderline() ? 'u' : '',
    cell.isFgPalette() ? `c${cell.getFgColor() % 8}` : '',
  ]
  return names.filter((name) => name !== '').join(' ')
}

const classOf = (style: string): string => (style === '' ? '' : ` class="${style}"`)
const escaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

const css = `
text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;white-space:pre;fill:var(--text)}
:root{--text:#1f2328;--screen:#fff;--rim:#d1d9e0;--c1:#cf222e;--c2:#1a7f37;--c3:#9a6700;--c4:#0969da;--c5:#8250df;--c6:#1b7c83}
@media (prefers-color-scheme:dark){:root{--text:#e6edf3;--screen:#0d1117;--rim:#30363d;--c1:#ff7b72;--c2:#56d364;--c3:#e3b341;--c4:#79c0ff;--c5:#d2a8ff;--c6:#76e3ea}}
.screen{fill:var(--screen);stroke:var(--rim)}.caret{fill:var(--text)}
.b{font-weight:600}.d{opacity:.65}.i{text-decoration:underline}.t{font-style:italic}.u{text-decoration:underline}
.c1{fill:var(--c1)}.c2{fill:var(--c2)}.c3{fill:var(--c3)}.c4{fill:var(--c4)}.c5{fill:var(--c5)}.c6{fill:var(--c6)}
`
