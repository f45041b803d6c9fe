import { isRecord } from '../core/is-record.ts'
import { badRequest, Problem } from './problem.ts'
import type { JsonSchema, Route } from './route.ts'

/** The query of a request as its route declares it. Throws a problem for a parameter that is unknown or has the wrong form. */
export function readQuery(params: URLSearchParams, declared: Route['query'] = {}): Record<string, unknown> {
  const query: Record<string, unknown> = {}
  for (const name of new Set(params.keys())) {
    const schema = Object.hasOwn(declared, name) ? declared[name] : undefined
    if (!schema) {
      const known = Object.keys(declared)
      throw badRequest(
        `There is no parameter ${JSON.stringify(name.slice(0, 60))} here; ${known.length ? `there are ${known.join(', ')}` : 'there are none'}`,
      )
    }
    query[name] = parameterValue(name, params.getAll(name), schema)
  }
  return query
}

function parameterValue(name: string, given: readonly string[], schema: JsonSchema): unknown {
  if (schema.type === 'array')
    return given.map((one) => (isRecord(schema.items) ? parameterValue(name, [one], schema.items) : one))
  const [text = ''] = given
  const wrong = (wanted: string): Problem =>
    badRequest(`?${name}= must be ${wanted}, got ${JSON.stringify(text.slice(0, 60))}`)
  if (given.length > 1) throw badRequest(`?${name}= may be given once, and is there ${given.length} times`)
  if (schema.type === 'boolean') {
    if (text !== 'true' && text !== 'false') throw wrong('true or false')
    return text === 'true'
  }
  if (schema.type === 'integer') {
    const { minimum = 0, maximum = Number.MAX_SAFE_INTEGER } = schema as { minimum?: number; maximum?: number }
    const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN
    if (!(value >= minimum && value <= maximum)) throw wrong(`a whole number from ${minimum} to ${maximum}`)
    return value
  }
  if (Array.isArray(schema.enum) && !schema.enum.includes(text)) throw wrong(`one of ${schema.enum.join(', ')}`)
  return text
}

/** The JSON body of a request, checked against the schema of its route. */
export async function readBody(
  request: Request,
  schema: JsonSchema,
  maxBytes: number,
): Promise<Record<string, unknown>> {
  const type = request.headers.get('content-type') ?? ''
  const text = await readText(request, maxBytes)
  if (text !== '' && !/^application\/json\b/i.test(type))
    throw new Problem(
      415,
      'not_json',
      `Send JSON with Content-Type: application/json, got ${JSON.stringify(type.slice(0, 60))}`,
    )
  const body = text === '' ? {} : parseJson(text)
  const { createSchemaValidator, worstViolation } = await import('../platform/json-schema.ts')
  const violations = createSchemaValidator(schema)(body)
  if (violations) throw badRequest(`The body does not fit: ${worstViolation(violations).slice(0, 400)}`)
  return body as Record<string, unknown>
}

/** The bytes of a body, as far as they are allowed. */
export async function readBytes(request: Request, maxBytes: number): Promise<Uint8Array<ArrayBuffer>> {
  const tooLarge = (): Problem => new Problem(413, 'too_large', `The body may have ${maxBytes} bytes; send less`)
  if (Number(request.headers.get('content-length') ?? 0) > maxBytes) throw tooLarge()
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of request.body ?? []) {
    size += chunk.byteLength
    if (size > maxBytes) throw tooLarge()
    chunks.push(chunk)
  }
  const bytes = new Uint8Array(size)
  let at = 0
  for (const chunk of chunks) {
    bytes.set(chunk, at)
    at += chunk.byteLength
  }
  return bytes
}

async function readText(request: Request, maxBytes: number): Promise<string> {
  const bytes = await readBytes(request, maxBytes)
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw badRequest('The body is not UTF-8')
  }
}

const deepest = 64

/** Parses a JSON object. Throws a problem for anything else, and for nesting that would be costly to walk. */
function parseJson(text: string): Record<string, unknown> {
  if (isTooDeep(text)) throw badRequest(`The body is nested more than ${deepest} levels deep; send flatter JSON`)
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw badRequest(`The body is no JSON: ${error instanceof Error ? error.message.slice(0, 200) : ''}`)
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw badRequest('The body must be a JSON object')
  return value as Record<string, unknown>
}

/** In one pass before parsing. Brackets inside strings do not count. */
function isTooDeep(text: string): boolean {
  let depth = 0
  let isText = false
  for (let i = 0; i < text.length; i++) {
    const char = text[i]
    if (isText) {
      if (char === '\\') i++
      else if (char === '"') isText = false
    } else if (char === '"') isText = true
    else if (char === '{' || char === '[') {
      if (++depth > deepest) return true
    } else if (char === '}' || char === ']') depth--
  }
  return false
}
