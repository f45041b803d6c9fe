import { badRequest } from './problem.ts'

const deepest = 64

/** Parses a JSON object. Throws a problem for anything else, and for nesting that would be costly to walk. */
export function parseJson(text: string): Record<string, unknown> {
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
