import { type Output, type RpcHost, serveZot } from '../../src/rpc/index.ts'
import type { Frame } from './check-grammar.ts'

/** A client in the same process: sends commands and records frames. */
export class Client {
  readonly frames: Frame[] = []
  readonly ended: ReturnType<typeof serveZot>
  readonly #input: Uint8Array[] = []
  #wake: (() => void) | undefined
  #isClosed = false
  readonly #waiting: { readonly is: (frame: Frame) => boolean; readonly go: (frame: Frame) => void }[] = []

  constructor(host: RpcHost, options: Partial<Parameters<typeof serveZot>[0]> = {}) {
    const output: Output = {
      write: (text, done) => {
        for (const line of text.split('\n')) if (line !== '') this.#hear(JSON.parse(line) as Frame)
        queueMicrotask(() => done())
      },
    }
    this.ended = serveZot({ host, input: this.#read(), output, ...options })
  }

  say(...commands: (object | string)[]): void {
    for (const one of commands) this.raw(`${typeof one === 'string' ? one : JSON.stringify(one)}\n`)
  }

  raw(text: string | Uint8Array): void {
    this.#input.push(typeof text === 'string' ? new TextEncoder().encode(text) : text)
    this.#wake?.()
  }

  close(): void {
    this.#isClosed = true
    this.#wake?.()
  }

  /** The first matching frame, received or yet to come. */
  until(is: (frame: Frame) => boolean): Promise<Frame> {
    const known = this.frames.find(is)
    return known ? Promise.resolve(known) : new Promise((go) => this.#waiting.push({ is, go }))
  }

  /** The answer to the command with this id. */
  answer(id: string): Promise<Frame> {
    return this.until((frame) => frame.type === 'response' && frame.id === id)
  }

  #hear(frame: Frame): void {
    this.frames.push(frame)
    for (const waiting of [...this.#waiting]) {
      if (!waiting.is(frame)) continue
      this.#waiting.splice(this.#waiting.indexOf(waiting), 1)
      waiting.go(frame)
    }
  }

  async *#read(): AsyncGenerator<Uint8Array> {
    for (;;) {
      while (this.#input.length > 0) yield this.#input.shift()!
      if (this.#isClosed) return
      await new Promise<void>((wake) => {
        this.#wake = wake
      })
    }
  }
}

/** Sends everything at once and closes; returns all frames. */
export async function converse(host: RpcHost, ...commands: (object | string)[]): Promise<Frame[]> {
  const client = new Client(host)
  client.say(...commands)
  client.close()
  await client.ended
  return client.frames
}
