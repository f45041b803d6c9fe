/** One server-sent event. */
export interface ServerSentEvent {
  readonly event: string
  readonly data: string
}

/** Reads server-sent events from texts that may be cut anywhere. An event whose end is missing is not given. */
export class SseParser {
  #rest = ''
  #event = ''
  #data: string[] = []

  /** The events that this piece completes. */
  feed(piece: string): ServerSentEvent[] {
    const events: ServerSentEvent[] = []
    // A break is looked for only in what is new. A CR at the end may be half of one.
    let searched = Math.max(0, this.#rest.length - 1)
    let from = 0
    const text = this.#rest + piece
    for (;;) {
      lineBreak.lastIndex = Math.max(searched, from)
      const found = lineBreak.exec(text)
      if (!found || (found[0] === '\r' && found.index === text.length - 1)) break
      const complete = this.#line(text.slice(from, found.index))
      if (complete) events.push(complete)
      from = searched = found.index + found[0].length
    }
    this.#rest = text.slice(from)
    return events
  }

  #line(line: string): ServerSentEvent | undefined {
    if (line === '') {
      const complete = { event: this.#event || 'message', data: this.#data.join('\n') }
      const isEmpty = this.#data.length === 0
      this.#event = ''
      this.#data = []
      return isEmpty ? undefined : complete
    }
    const [, field, value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? []
    if (field === 'event') this.#event = value
    if (field === 'data') this.#data.push(value)
    return undefined
  }
}

const lineBreak = /\r\n|\n|\r/g
