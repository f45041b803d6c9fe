import { dataUrl, isBase64, typeOf } from './media.ts'
import { isObject, type Json, Refusal, unknownField } from './refusal.ts'

/** An error of OpenAI's APIs. */
export function refuse(
  message: string,
  param: string | null = null,
  status = 400,
  code: string | null = null,
): Refusal {
  return new Refusal(message, status, { error: { message, type: 'invalid_request_error', param, code } })
}

export function checkBearer({ authorization }: { readonly authorization?: string | undefined }): void {
  if (!/^Bearer \S+$/.test(String(authorization)))
    throw refuse("You didn't provide an API key.", null, 401, 'invalid_api_key')
}

/** Refuses unknown fields. */
export function checkFields(value: Json, known: readonly string[], at: string): void {
  const extra = unknownField(value, known)
  const name = at === '' ? extra : `${at}.${extra}`
  if (extra !== undefined) throw refuse(`Unknown parameter: '${name}'.`, name ?? null, 400, 'unknown_parameter')
}

export const namePattern = /^[a-zA-Z0-9_-]{1,64}$/

/** Checks a function: its name, and parameters whose root is an object without alternatives. */
export function checkFunction({ name, parameters }: Json, at: string): void {
  if (!namePattern.test(String(name)))
    throw refuse(
      `Invalid '${at}.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.`,
      `${at}.name`,
    )
  const bad = (why: string) => refuse(`Invalid schema for function '${String(name)}': ${why}`, `${at}.parameters`)
  if (!isObject(parameters)) throw bad('schema must be an object')
  if (parameters.type !== 'object')
    throw bad(`schema must be a JSON Schema of 'type: "object"', got 'type: "${String(parameters.type ?? 'None')}"'.`)
  for (const word of ['anyOf', 'oneOf', 'allOf', 'enum', 'not'])
    if (word in parameters)
      throw bad(`schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level.`)
}

const mostImageLength = 20 * 1024 * 1024

export function checkImageUrl(url: unknown, at: string): void {
  const image = dataUrl(url)
  if (!image || !isBase64(image.data))
    throw refuse(`Invalid '${at}'. Expected a base64-encoded data URL with an image MIME type.`, at)
  if (image.data.length > mostImageLength) throw refuse(`Invalid '${at}'. The image is too large.`, at)
  const actual = typeOf(image.data)
  const isKnown = /^image\/(png|jpeg|gif|webp)$/.test(image.type) && actual?.startsWith('image/') === true
  if (!isKnown || actual !== image.type)
    throw refuse(
      `Invalid '${at}'. You uploaded an unsupported image. Please make sure your image has of one the following formats: ['png', 'jpeg', 'gif', 'webp'].`,
      at,
    )
}

export function checkFile(file: unknown, at: string): void {
  const document = dataUrl(file)
  if (!document || !isBase64(document.data)) throw refuse(`Invalid '${at}'. Expected base64-encoded file data.`, at)
  if (document.type !== 'application/pdf' || typeOf(document.data) !== 'application/pdf')
    throw refuse(`Invalid '${at}'. Unsupported file type: expected a file with MIME type application/pdf.`, at)
}

export const isJsonObject = (text: unknown): boolean => {
  try {
    return isObject(JSON.parse(String(text)))
  } catch {
    return false
  }
}
