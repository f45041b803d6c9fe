import type { ModelEvent, ModelReply, Provider } from 'libero/types'

/** A model that says what the test lets it say, when it lets it. */
export interface PuppetModel extends Provider {
  /** Whether a request waits for more. */
  readonly isAsked: boolean
  say(delta: string): void
  think(delta: string): void
  /** Everything so far is void. */
  retry(reason: string): void
  fail(error: Error): void
  /** Ends the reply, with calls if there are some. */
  reply(...calls: readonly PuppetCall[]): void
}

export interface PuppetCall {
  readonly id: string
  readonly name: string
  readonly input: Record<string, unknown>
}

export function puppetModel(): PuppetModel {
  let request: { readonly events: (ModelEvent | Error)[]; text: string; thinking: string; attempt: number } | undefined
  let wake = (): void => {}
  const put = (event: ModelEvent | Error): void => {
    request?.events.push(event)
    wake()
  }
  return {
    meta: { name: 'puppet', defaultModel: 'puppet-1' },
    get isAsked() {
      return request !== undefined
    },
    say(delta) {
      if (request) request.text += delta
      put({ type: 'text', delta })
    },
    think(delta) {
      if (request) request.thinking += delta
      put({ type: 'thinking', delta })
    },
    retry(reason) {
      if (!request) return
      Object.assign(request, { text: '', thinking: '' })
      put({ type: 'retry', attempt: ++request.attempt, reason, delayMs: 0 })
    },
    fail: put,
    reply(...calls) {
      if (!request) return
      const { text, thinking } = request
      const content: ModelReply['content'][number][] = []
      if (thinking !== '') content.push({ type: 'thinking', text: thinking })
      if (text !== '' || calls.length === 0) content.push({ type: 'text', text: text === '' ? 'Nothing.' : text })
      for (const call of calls) {
        put({ type: 'tool_start', id: call.id, name: call.name })
        put({ type: 'tool_args', id: call.id, delta: JSON.stringify(call.input) })
        put({ type: 'tool_end', id: call.id })
        content.push({ type: 'tool_call', ...call })
      }
      const usage = { input: 1200, output: 300 }
      put({ type: 'reply', content, usage, stop: calls.length > 0 ? 'tool_use' : 'end' })
      request = undefined
    },
    async *stream(_, signal) {
      const own = { events: [], text: '', thinking: '', attempt: 1 } as NonNullable<typeof request>
      request = own
      signal.addEventListener('abort', () => wake(), { once: true })
      try {
        yield { type: 'start' }
        for (;;) {
          signal.throwIfAborted()
          const event = own.events.shift()
          if (!event) {
            await new Promise<void>((resolve) => {
              wake = resolve
            })
            continue
          }
          if (event instanceof Error) throw event
          yield event
          if (event.type === 'reply') return
        }
      } finally {
        if (request === own) request = undefined
      }
    },
  }
}
