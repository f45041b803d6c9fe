import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Refusal } from './refusal.ts'
import { parseBody } from './strict-json.ts'

/** A request as the API receives it. */
export interface StrictRequest {
  readonly path: string
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly json: Record<string, unknown>
}

/** The next reply of the model. */
export interface Step {
  readonly thinking?: string
  readonly text?: string
  readonly calls?: readonly { readonly id: string; readonly name: string; readonly input?: object }[]
}

/** An API: what it refuses, with which error, and how it answers. */
export interface Dialect {
  /** Throws a `Refusal` for everything that the real API refuses. */
  check(request: StrictRequest): void
  /** The error of this API for a refused conversation. */
  refuse(message: string): Refusal
  /** Its error for one position of the conversation. */
  accuse(at: string): Refusal
  /** The conversation in a body: each element, with the parts that have an index of their own. */
  items(json: Record<string, unknown>): readonly Item[]
  isProbe(json: Record<string, unknown>): boolean
  /** The whole stream. */
  answer(request: StrictRequest, step: Step, n: number): string
}

/** An element of a conversation, or a part of one, and how errors name its position. */
export interface Item {
  readonly at: string
  readonly value: unknown
  readonly parts?: readonly Item[]
}

/** Something in the conversation that is refused although it breaks no rule. */
export interface Offence {
  readonly marker: string
  /** `index`: the error names the position; `message`: only the message; `neighbour`: the first part of it; `nothing`: none. */
  readonly says: 'index' | 'message' | 'neighbour' | 'nothing'
}

export interface StrictServer {
  readonly url: string
  readonly requests: Recorded[]
  /** The next replies; if empty, `ok`. */
  readonly script: Step[]
  readonly offences: Offence[]
  /** Refuses every request, with this error. */
  mood: string | undefined
  /** The status with which valid probes fail. */
  outage: number | undefined
  /** Called before a request is answered. */
  onRequest: (() => void) | undefined
  close(): Promise<void>
}

export interface Recorded {
  readonly text: string
  readonly json: Record<string, unknown>
  readonly headers: StrictRequest['headers']
  readonly isProbe: boolean
  /** Why it was refused. */
  readonly refusal?: string
}

/** An API on loopback that refuses everything that the real one refuses. */
export async function startStrict(dialect: Dialect): Promise<StrictServer> {
  let n = 0
  const strict: StrictServer = {
    url: '',
    requests: [],
    script: [],
    offences: [],
    mood: undefined,
    outage: undefined,
    onRequest: undefined,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }

  const server = createServer(async (incoming, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of incoming) chunks.push(chunk as Buffer)
    const bytes = Buffer.concat(chunks)
    const headers = incoming.headers as StrictRequest['headers']
    strict.onRequest?.()
    const seen = { text: bytes.toString(), json: {} as Record<string, unknown>, headers, isProbe: false }
    try {
      seen.json = parseBody(bytes, dialect)
      const request: StrictRequest = { path: incoming.url ?? '', headers, json: seen.json }
      seen.isProbe = dialect.isProbe(seen.json)
      if (strict.mood !== undefined) throw dialect.refuse(strict.mood)
      if (seen.isProbe && strict.outage !== undefined) throw new Refusal('out of order', strict.outage, {})
      dialect.check(request)
      for (const offence of strict.offences) lookFor(offence, dialect, seen.json)
      const step = (seen.isProbe ? undefined : strict.script.shift()) ?? { text: 'ok' }
      strict.requests.push(seen)
      response.writeHead(200, { 'content-type': 'text/event-stream' }).end(dialect.answer(request, step, ++n))
    } catch (error) {
      const { status, body } = error instanceof Refusal ? error : { status: 500, body: { error: String(error) } }
      strict.requests.push({ ...seen, refusal: (error as Error).message })
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return Object.assign(strict, { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` })
}

function lookFor({ marker, says }: Offence, dialect: Dialect, json: Record<string, unknown>): void {
  const isIt = ({ value }: Item): boolean => JSON.stringify(value).includes(marker)
  const item = dialect.items(json).find(isIt)
  if (!item) return
  if (says === 'nothing') throw dialect.refuse('The request could not be processed.')
  const part = says === 'index' ? item.parts?.find(isIt) : says === 'neighbour' && item.parts?.[0]
  throw dialect.accuse((part || item).at)
}

/** A stream of server-sent events. */
export const sse = (payloads: readonly (object | string)[]): string =>
  payloads
    .map((payload) => {
      if (typeof payload === 'string') return `data: ${payload}\n\n`
      const name = 'type' in payload ? `event: ${String(payload.type)}\n` : ''
      return `${name}data: ${JSON.stringify(payload)}\n\n`
    })
    .join('')
