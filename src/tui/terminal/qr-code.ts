/**
 * A text as a QR code: rows of half blocks, two modules high. With colours it is black on white in every theme, which all
 * cameras read. Undefined if the package `uqr` is not installed, or if the text is too long.
 */
export async function qrCode(
  text: string,
  { hasColours = false }: { readonly hasColours?: boolean } = {},
): Promise<readonly string[] | undefined> {
  const uqr = await import('uqr').catch(() => undefined)
  if (!uqr || new TextEncoder().encode(text).length > mostBytes) return undefined
  const { data } = uqr.encode(text, { border: 2 })
  const rows: string[] = []
  for (let y = 0; y < data.length; y += 2) {
    const below = data[y + 1] ?? []
    const row = data[y]!.map((isDark, x) => blocks[(isDark ? 1 : 0) + (below[x] ? 2 : 0)]).join('')
    rows.push(hasColours ? `${blackOnWhite}${row}${reset}` : row)
  }
  return rows
}

/** A code of more is too wide for a terminal. */
const mostBytes = 500

/** By which of its two modules are dark: none, the upper, the lower, both. */
const blocks = [' ', '▀', '▄', '█']
const blackOnWhite = '\u001b[38;5;16;48;5;231m'
const reset = '\u001b[0m'
