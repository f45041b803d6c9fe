import { messageOf } from './errors.ts'
import { typeName } from './tool-input.ts'
import { wellFormedJson } from './tool-output.ts'
import type { ToolCallBlock } from './turn.ts'

type Read = Pick<ToolCallBlock, 'input' | 'raw' | 'unreadable'>

/** The arguments of a call, out of whatever a wire handed over. A cut-off or unreadable text never becomes an input. */
export function readArguments(given: unknown, wasCut: boolean): Read | Promise<Read> {
  if (typeof given !== 'string') return admit(given)
  if (wasCut) return unreadable(given, 'the reply hit the output limit before the arguments were complete')
  if (given.trim() === '') return { input: {} }
  let parsed: unknown
  try {
    parsed = JSON.parse(given)
  } catch (error) {
    return repair(given, messageOf(error))
  }
  return admit(parsed, given)
}

/**
 * Mends the small slips of JSON (a trailing comma, single quotes, a code fence around it). A text that stops in the
 * middle of a string or an object is not mended: half a command is another command.
 */
async function repair(text: string, problem: string): Promise<Read> {
  const bare = text.trim().replace(/^```[a-z]*\s*|\s*```$/g, '')
  if (isCutOff(bare)) return unreadable(text, `${problem}; it looks cut off`)
  try {
    const { jsonrepair } = await import('jsonrepair')
    const { input, unreadable: why } = admit(JSON.parse(jsonrepair(bare)))
    return why ? unreadable(text, problem) : { input, raw: text }
  } catch {
    return unreadable(text, problem)
  }
}

function admit(value: unknown, raw?: string): Read {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return unreadable(raw ?? safeText(value), `expected a JSON object, got ${typeName(value)}`)
  const flaw = flawOf(value, 1)
  if (flaw === 'too deep') return unreadable(raw ?? '', `nested deeper than ${deepest} levels`)
  const input = value as Record<string, unknown>
  return { input: flaw === 'malformed text' ? wellFormedJson(input) : input }
}

const unreadable = (raw: string, why: string): Read => ({ input: {}, raw: raw.toWellFormed(), unreadable: why })

function safeText(value: unknown): string {
  return JSON.stringify(value) ?? String(value)
}

/** Whether a text ends inside a string, an object or an array. */
function isCutOff(text: string): boolean {
  let depth = 0
  let quote = ''
  for (let i = 0; i < text.length; i++) {
    const char = text[i]!
    if (char === '\\') i++
    else if (quote !== '') {
      if (char === quote) quote = ''
    } else if (char === '"') quote = char
    else if (char === '{' || char === '[') depth++
    else if (char === '}' || char === ']') depth--
  }
  return quote !== '' || depth > 0
}

/** No honest tool needs more, and everything that walks an input may then do so recursively. */
const deepest = 100

/** What is wrong inside a JSON value; looks no deeper than it may, so that it cannot be made to overflow the stack. */
function flawOf(value: object, depth: number): 'too deep' | 'malformed text' | undefined {
  if (depth > deepest) return 'too deep'
  let flaw: 'malformed text' | undefined
  for (const key in value) {
    const inner = (value as Record<string, unknown>)[key]
    if (typeof inner === 'string') {
      if (!inner.isWellFormed() || !key.isWellFormed()) flaw = 'malformed text'
    } else if (typeof inner === 'object' && inner !== null) {
      const found = flawOf(inner, depth + 1)
      if (found === 'too deep') return found
      flaw ??= found
    }
  }
  return flaw
}
