import { dropBody, readCapped } from './bytes.ts'
import { protocolVersion } from './protocol.ts'
import { badRequest, Refusal } from './refusal.ts'
import { isObject } from './shape.ts'

/** The body of a request, unless it is bigger than allowed. */
export async function bytesOf(request: Request, most: number): Promise<Uint8Array<ArrayBuffer>> {
  const announced = Number(request.headers.get('content-length') ?? 0)
  const bytes = announced > most ? undefined : await readCapped(request.body, most)
  if (bytes) return bytes
  dropBody(request)
  throw new Refusal(413, {
    code: 'too_large',
    message: `A request may have ${most} bytes; the server's maxBytes says so`,
  })
}

/** The same as the JSON object it should be. */
export async function objectOf(request: Request, most: number): Promise<Record<string, unknown>> {
  const type = (request.headers.get('content-type') ?? '').split(';')[0]!.trim().toLowerCase()
  if (type !== 'application/json') {
    dropBody(request)
    throw new Refusal(415, { code: 'bad_request', message: 'The body must be application/json' })
  }
  const bytes = await bytesOf(request, most)
  const body = parsed(bytes)
  if (!isObject(body)) throw badRequest('The body is not a JSON object in UTF-8')
  if (body.protocol !== protocolVersion)
    throw badRequest(`This server speaks version ${protocolVersion} of the protocol; update it, or say "protocol": 1`)
  return body
}

function parsed(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch {
    return undefined
  }
}
