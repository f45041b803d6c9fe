/** A streamed text: the part that can be rendered, and the part that may still change its meaning. */
export interface StreamedText {
  /** Up to the last blank line outside of code blocks, which is included. */
  readonly settled: string
  /** To be shown as plain text. */
  readonly rest: string
}

/** The opacity of a streamed text. */
export const streamingOpacity = 0.7

/**
 * Splits a growing text into what is `settled`, up to the last blank line outside of code blocks, and the `rest`, to be shown
 * as plain text. Each part is scanned once. `syntax` determines the blocks that may contain blank lines: fenced code, and in wikitext also typed, quoted and
 * hard-broken blocks.
 */
export function createStreamingText({ syntax = 'markdown' }: { readonly syntax?: 'markdown' | 'wikitext' } = {}): {
  /** Adds new text. */
  append(delta: string): { readonly settled: string; readonly rest: string }
  /** Sets the whole text. If it does not continue the previous one, it is scanned from the start. */
  update(text: string): { readonly settled: string; readonly rest: string }
} {
  let whole = ''
  let now: StreamedText = nothing
  /** The incomplete last line. */
  let line = ''
  let fence: string | undefined

  const append = (delta: string): StreamedText => {
    if (delta === '') return now
    let { settled, rest } = now
    let from = 0
    for (let end = delta.indexOf('\n'); end >= 0; end = delta.indexOf('\n', from)) {
      line += delta.slice(from, end)
      rest += delta.slice(from, end + 1)
      from = end + 1
      fence = fenceAfter(line, fence, syntax)
      if (fence === undefined && line.trim() === '') {
        settled += rest
        rest = ''
      }
      line = ''
    }
    line += delta.slice(from)
    whole += delta
    return (now = { settled, rest: rest + delta.slice(from) })
  }

  return {
    append,
    update(text) {
      if (text.startsWith(whole)) return append(text.slice(whole.length))
      whole = line = ''
      fence = undefined
      now = nothing
      return append(text)
    },
  }
}

const nothing: StreamedText = Object.freeze({ settled: '', rest: '' })

/** The fences that open a block. Not a regular expression, because a line may have any length. */
const signs = { markdown: ['```', '~~~'], wikitext: ['```', '$$$', '"""', '<<<'] } as const

/** The open fence after a line. A fence of the same sign, at least as long and alone on its line, closes it. */
function fenceAfter(line: string, open: string | undefined, syntax: keyof typeof signs): string | undefined {
  const bare = line.replace(/^[ \t]*(?:>[ \t]*)*/, '').trimEnd()
  const sign = open?.[0] ?? signs[syntax].find((one) => bare.startsWith(one))?.[0]
  if (sign === undefined) return open
  const run = sign.repeat(lengthOfRun(bare, sign))
  const after = bare.slice(run.length)
  if (open === undefined) {
    // Inline code, or a block on one line.
    const isInline = sign !== '~' && after.includes(sign === '`' ? sign : run)
    return isInline ? undefined : run
  }
  // A quotation may end with its author.
  const closes = run.length >= open.length && (after === '' || sign === '<')
  return closes ? undefined : open
}

function lengthOfRun(text: string, sign: string): number {
  let length = 0
  while (text[length] === sign) length++
  return length
}
