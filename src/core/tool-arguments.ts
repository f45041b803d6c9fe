import { messageOf } from './errors.ts'
import { deepest, flawOf, wellFormedJson } from './plain-json.ts'
import { typeName } from './tool-input.ts'
import { copyJson, type ToolCallBlock } from './turn.ts'

type Read = Pick<ToolCallBlock, 'input' | 'raw' | 'unreadable'>

/** The arguments of a call, out of whatever a wire handed over. A cut-off or unreadable text never becomes an input. */
export function readArguments(given: unknown, wasCut: boolean): Read | Promise<Read> {
  if (wasCut) return unreadable(given, 'the reply hit the output limit before the arguments were complete')
  if (typeof given !== 'string') return admit(given, given)
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
 * Mends the small slips of JSON (a trailing comma, single quotes, a code fence around it). A text that may stop in the
 * middle of something is not mended: half a command is another command.
 */
async function repair(text: string, problem: string): Promise<Read> {
  const bare = text.trim().replace(/^```[a-z]*\s*|\s*```$/gi, '')
  if (!isWhole(bare)) return unreadable(text, `${problem}; it looks cut off`)
  try {
    const { jsonrepair } = await import('jsonrepair')
    const read = admit(JSON.parse(jsonrepair(bare)), text)
    return read.unreadable ? unreadable(text, problem) : { ...read, raw: text.toWellFormed() }
  } catch {
    return unreadable(text, problem)
  }
}

function admit(value: unknown, given: unknown): Read {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return unreadable(given, `expected a JSON object, got ${typeName(value)}`)
  const flaw = flawOf(value)
  if (flaw === 'too deep') return unreadable(given, `nested deeper than ${deepest} levels`)
  if (flaw === 'no number') return unreadable(given, 'it holds a number too large to be one')
  const input = value as Record<string, unknown>
  if (flaw) return { input: wellFormedJson(input) }
  return { input: typeof given === 'string' ? input : copyJson(input) }
}

function unreadable(given: unknown, why: string): Read {
  return { input: {}, raw: (typeof given === 'string' ? given : textOf(given)).toWellFormed(), unreadable: why }
}

/** For the record only; a value too deep to be written down is left out. */
function textOf(value: unknown): string {
  try {
    return JSON.stringify(value) ?? String(value)
  } catch {
    return ''
  }
}

/** Pairs of quotes that a repair takes for quotes. */
const quotes: Record<string, string> = { '"': '"', "'": "'", '`': '`', '“': '”', '‘': '’', '´': '´' }

/** Whether every string, object and list is closed, and nothing stands for something left out. When in doubt: no. */
function isWhole(text: string): boolean {
  let depth = 0
  for (let i = 0; i < text.length; i++) {
    const char = text[i]!
    if (char === '\\' || text.startsWith('...', i) || char === '…') return false
    if (char === '/' && (text[i + 1] === '*' || text[i + 1] === '/')) return false
    if (char === '{' || char === '[') depth++
    if (char === '}' || char === ']') depth--
    const close = quotes[char]
    if (close === undefined) continue
    for (i++; i < text.length && text[i] !== close; i++) if (text[i] === '\\') i++
    if (i >= text.length || !/^\s*([:,}\]]|$)/.test(text.slice(i + 1, i + 200))) return false
  }
  return depth === 0
}
