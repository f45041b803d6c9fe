import { McpHttpError } from './mcp-http-error.ts'

/** The same answer, which breaks off when it gets bigger than anybody needs: as a whole, or in one event of a stream. */
export function withCappedBody(response: Response, host: string, mostBytes = mostBodyBytes): Response {
  if (!response.body) return response
  const isStream = /^text\/event-stream\b/i.test(response.headers.get('content-type') ?? '')
  const count = isStream ? eventBytes() : bodyBytes()
  const what = isStream ? 'an event' : 'an answer'
  const capped = response.body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        if (count(chunk) > mostBytes)
          throw new McpHttpError('too_big', `${host} sent ${what} of more than ${mostBytes} bytes, which is not read`)
        controller.enqueue(chunk)
      },
    }),
  )
  const { status, statusText, headers } = response
  return new Response(capped, { status, statusText, headers })
}

const mostBodyBytes = 16 * 1024 * 1024

function bodyBytes(): (chunk: Uint8Array) => number {
  let bytes = 0
  return (chunk) => (bytes += chunk.length)
}

/** The longest that an event was in a chunk, with what came of it before. An empty line ends it. */
function eventBytes(): (chunk: Uint8Array) => number {
  let bytes = 0
  let isEmptyLine = true
  let last = 0
  return (chunk) => {
    let most = 0
    for (const byte of chunk) {
      bytes++
      const isBreak = byte === lf || byte === cr
      const isSecondHalf = byte === lf && last === cr
      if (isBreak && !isSecondHalf && isEmptyLine) {
        most = Math.max(most, bytes)
        bytes = 0
      }
      if (!isSecondHalf) isEmptyLine = isBreak
      last = byte
    }
    return Math.max(most, bytes)
  }
}

const lf = 10
const cr = 13
