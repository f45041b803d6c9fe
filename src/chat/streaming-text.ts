/** A text that is still being written: what can be rendered, and what may still become something else. */
export interface StreamedText {
  /** Up to and with the last blank line that is not inside a block of code. */
  readonly settled: string
  /** Shown as plain text. */
  readonly rest: string
}

/** How a screen shows a text while it is being written. */
export const streamingOpacity = 0.7

export interface StreamingOptions {
  /** What may hold blank lines inside: fences of code, and in wikitext also typed, quoted and hard-broken blocks. Default `markdown`. */
  readonly syntax?: 'markdown' | 'wikitext'
}

/** Splits a text once. While it grows, use `createStreamingText`. */
export function splitStreaming(text: string, options?: StreamingOptions): StreamedText {
  return createStreamingText(options).update(text)
}

/** Splits a text again and again while it grows; what was looked at is not looked at again. */
export interface StreamingText {
  /** What came since. */
  append(delta: string): StreamedText
  /** The whole text as it is now; where it is not the one before and more, everything begins anew. */
  update(text: string): StreamedText
}

/** A splitter for one text. */
export function createStreamingText({ syntax = 'markdown' }: StreamingOptions = {}): StreamingText {
  let whole = ''
  let now: StreamedText = nothing
  /** The line that is not complete yet. */
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

/** The signs that open a block, and how many of each it takes. By hand: a model may write a line of any length. */
const signs = { markdown: ['```', '~~~'], wikitext: ['```', '$$$', '"""', '<<<'] } as const

/** The fence that is open after a line. It is closed by one of the same sign that is as long and stands alone. */
function fenceAfter(line: string, open: string | undefined, syntax: keyof typeof signs): string | undefined {
  const bare = line.replace(/^[ \t]*(?:>[ \t]*)*/, '').trimEnd()
  const sign = open?.[0] ?? signs[syntax].find((one) => bare.startsWith(one))?.[0]
  if (sign === undefined) return open
  const run = sign.repeat(lengthOfRun(bare, sign))
  const after = bare.slice(run.length)
  if (open === undefined) {
    // Code within a line, or a block that ends where it began.
    const isInline = sign !== '~' && after.includes(sign === '`' ? sign : run)
    return isInline ? undefined : run
  }
  // A quotation may end with who said it.
  const closes = run.length >= open.length && (after === '' || sign === '<')
  return closes ? undefined : open
}

function lengthOfRun(text: string, sign: string): number {
  let length = 0
  while (text[length] === sign) length++
  return length
}
