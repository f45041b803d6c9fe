import type { Transport } from '../../src/platform/http.ts'
import { Refusal } from './refusal.ts'
import { parseBody } from './strict-json.ts'
import type { Dialect, Recorded } from './strict-server.ts'

/** The address of the API. */
export const strictBase = 'http://strict.test'

/** The same API without a network, for thousands of requests. */
export function strictTransport(dialect: Dialect): { transport: Transport; requests: Recorded[] } {
  const requests: Recorded[] = []
  const transport: Transport = async ({ url, headers, body = [] }) => {
    const bytes = Buffer.concat(body)
    const path = url.slice(strictBase.length)
    try {
      const json = parseBody(bytes, dialect)
      dialect.check({ path, headers, json })
      requests.push({ text: bytes.toString(), json, headers, isProbe: false })
      return { status: 200, headers: {}, body: stream(dialect.answer({ path, headers, json }, { text: 'ok' }, 1)) }
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      return { status: error.status, headers: {}, body: stream(JSON.stringify(error.body)) }
    }
  }
  return { transport, requests }
}

async function* stream(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text)
}
