import { isObject, type Json, type Refusal } from './refusal.ts'

/** The parsers of services have a maximum depth. */
const deepest = 128

/** Reads a body like a strict parser: UTF-8, no lone surrogates, no NUL, not too deep. */
export function parseBody(bytes: Uint8Array, api: { refuse(message: string): Refusal }): Json {
  let text: string
  let value: unknown
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    value = JSON.parse(text)
  } catch (error) {
    throw api.refuse(`The request body is not valid JSON: ${String(error)}`)
  }
  const flaw = flawIn(value, 0)
  if (flaw !== undefined) throw api.refuse(`The request body is not valid JSON: ${flaw}`)
  if (!isObject(value)) throw api.refuse('The request body is not valid JSON: expected an object')
  return value
}

function flawIn(value: unknown, depth: number): string | undefined {
  if (typeof value === 'string') return flawInText(value)
  if (typeof value !== 'object' || value === null) return undefined
  if (depth > deepest) return 'recursion limit exceeded'
  for (const [key, inner] of Object.entries(value)) {
    const flaw = flawInText(key) ?? flawIn(inner, depth + 1)
    if (flaw !== undefined) return flaw
  }
  return undefined
}

function flawInText(text: string): string | undefined {
  if (!text.isWellFormed()) return 'no low surrogate in string'
  return text.includes('\0') ? 'NUL in string' : undefined
}
