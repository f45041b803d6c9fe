import type { RemoteOptions } from '../../src/client/index.ts'
import type { LogEntry } from '../../src/core/log.ts'

/** One connection that a test plays the server of. */
export interface PlayedConnection {
  readonly url: URL
  readonly init: RequestInit
  /** Sends an event, with JSON as its data. */
  tell(event: string, data: unknown): void
  entry(seq: number): void
  /** Ends it as a server does that closes. */
  end(): void
  /** Ends it as a lost network does. */
  lose(): void
}

/** A `fetch` whose answers the test gives: what is in the list first, then streams that the test plays. */
export function playedServer(...answers: (() => Response)[]) {
  const connections: PlayedConnection[] = []
  const requests: { readonly url: URL; readonly init: RequestInit }[] = []
  const waiting: ((connection: PlayedConnection) => void)[] = []
  let taken = 0
  const fetch: NonNullable<RemoteOptions['fetch']> = async (address, init) => {
    const url = new URL(address)
    requests.push({ url, init })
    const answer = answers.shift()
    if (answer) return answer()
    const encoder = new TextEncoder()
    let controller!: ReadableStreamDefaultController<Uint8Array>
    const body = new ReadableStream<Uint8Array>({ start: (given) => void (controller = given) })
    const tell = (event: string, data: unknown): void =>
      controller.enqueue(encoder.encode(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`))
    const connection: PlayedConnection = {
      ...{ url, init, tell },
      entry: (seq) => tell('entry', { durable: true, seq, entry: noteEntry(seq) }),
      end: () => controller.close(),
      lose: () => controller.error(new TypeError('network lost')),
    }
    connections.push(connection)
    waiting.shift()?.(connection)
    return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
  }
  return {
    fetch,
    requests,
    /** The next connection that a client opens, or has opened. */
    async connection(): Promise<PlayedConnection> {
      const known = connections[taken++]
      return known ?? new Promise((resolve) => void waiting.push(resolve))
    },
    get opened(): number {
      return connections.length
    },
  }
}

export const noteEntry = (seq: number): LogEntry =>
  ({ type: 'label', seq, at: seq, text: `entry ${seq}` }) as unknown as LogEntry

/** An answer as a server refuses with it. */
export const refusal = (status: number, code: string, headers: Record<string, string> = {}): Response =>
  Response.json(
    { type: `urn:libero:problem:${code}`, title: 'Refused', status, detail: `Refused with ${code}`, code },
    { status, headers: { 'content-type': 'application/problem+json', ...headers } },
  )
