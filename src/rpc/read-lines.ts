/** A line without its LF, or why it is no text. */
export type InputLine = { readonly text: string } | { readonly problem: string }

/** A line is too long. Reading ends with it, because the client is broken, unless long lines are skipped. */
export class LineTooLongError extends Error {
  override readonly name = 'LineTooLongError'
}

/**
 * Splits bytes into lines at LF only. The last line needs no LF. Each byte is scanned once and copied at most twice.
 * `maxBytes` is the longest line, without its LF. With `longLines: 'skipped'` a longer one is a problem, and reading goes on.
 */
export async function* readLines(
  input: AsyncIterable<Uint8Array>,
  {
    maxBytes = 16 * 1024 * 1024,
    longLines,
  }: { readonly maxBytes?: number | undefined; readonly longLines?: 'skipped' } = {},
): AsyncGenerator<InputLine, void, void> {
  let parts: Uint8Array[] = []
  let size = 0
  const add = (part: Uint8Array): void => {
    size += part.length
    if (size > maxBytes && longLines !== 'skipped') throw new LineTooLongError(tooLong(maxBytes))
    if (size > maxBytes) parts = []
    else if (part.length > 0) parts.push(part)
  }
  const take = (): InputLine => {
    if (size > maxBytes) {
      size = 0
      return { problem: tooLong(maxBytes) }
    }
    const bytes = parts.length === 1 ? parts[0]! : joined(parts, size)
    parts = []
    size = 0
    return textOf(bytes)
  }
  for await (const chunk of input) {
    let from = 0
    for (let to = chunk.indexOf(lf); to >= 0; to = chunk.indexOf(lf, from)) {
      add(chunk.subarray(from, to))
      from = to + 1
      yield take()
    }
    // Copied, because the source may reuse its buffer.
    add(chunk.slice(from))
  }
  if (size > 0) yield take()
}

const lf = 0x0a

const tooLong = (maxBytes: number): string =>
  `A line is longer than ${maxBytes} bytes; send shorter ones, or fewer images at once`

function joined(parts: readonly Uint8Array[], size: number): Uint8Array {
  const bytes = new Uint8Array(size)
  let at = 0
  for (const part of parts) {
    bytes.set(part, at)
    at += part.length
  }
  return bytes
}

/** A failed decoder keeps no state, so one serves for all lines. */
const decoder = new TextDecoder('utf-8', { fatal: true })

function textOf(bytes: Uint8Array): InputLine {
  try {
    return { text: decoder.decode(bytes) }
  } catch {
    return { problem: 'the line is not valid UTF-8' }
  }
}
