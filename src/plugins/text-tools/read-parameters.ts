import JSON5 from 'json5'
import { isRecord } from '../../core/is-record.ts'
import { flawOf } from '../../core/plain-json.ts'

/** So much is kept of parameters that nobody can read. */
const mostUnread = 1000

/**
 * What stands between the tags of a call, as parameters: JSON, else JSON5, be it with slips, else text. It is only ever
 * read, never run.
 */
export function readParameters(body: string): Record<string, unknown> {
  const text = unwrapped(body.trim())
  if (text === '') return {}
  const value = parsed(text)
  if (isRecord(value)) return value
  return { input: value === undefined ? beginningOf(text) : value }
}

/** The same of a call that may have its name inside. */
export function readInput(body: string, nameIn?: 'json'): Record<string, unknown> {
  return nameIn === 'json' ? (readNamedCall(body)?.input ?? {}) : readParameters(body)
}

/** The parameters as they were written, for who follows the stream. */
export function parametersText(body: string, nameIn?: 'json'): string {
  return nameIn === 'json' ? JSON.stringify(readInput(body, nameIn)) : body.trim()
}

/** What stands between the tags of a call that has its name inside; undefined where it has none. */
export function readNamedCall(body: string): { name: string; input: Record<string, unknown> } | undefined {
  const call = parsed(unwrapped(body.trim()))
  if (!isRecord(call) || typeof call.name !== 'string' || call.name.trim() === '') return undefined
  const given = call.arguments ?? call.parameters ?? {}
  const input = typeof given === 'string' ? readParameters(given) : given
  return { name: call.name.trim(), input: isRecord(input) ? input : { input } }
}

/** Whether a text is a whole object. */
export function isObjectText(text: string): boolean {
  return isRecord(parsed(text.trim()))
}

/** Models like to put a fence around JSON, or what XML has for it. */
function unwrapped(text: string): string {
  if (text.startsWith('<![CDATA[') && text.endsWith(']]>')) return text.slice(9, -3).trim()
  if (!text.startsWith('```') || !text.endsWith('```')) return text
  const line = text.indexOf('\n')
  return line < 0 ? text : text.slice(line + 1, -3).trim()
}

/** Undefined also for what could not be written down again: nesting without end, numbers beyond all bounds. */
function parsed(text: string): unknown {
  const read = orUndefined(() => JSON.parse(text) as unknown) ?? orUndefined(() => JSON5.parse<unknown>(quiet(text)))
  const value = read === undefined ? orUndefined(() => readSlips(text)) : read
  if (typeof value === 'number' && !Number.isFinite(value)) return undefined
  if (typeof value !== 'object' || value === null) return value
  const flaw = flawOf(value)
  return flaw === 'too deep' || flaw === 'no number' ? undefined : value
}

/** Objects with the slips that models make most: line breaks in strings, and all of it written as HTML wants it. */
function readSlips(text: string): unknown {
  const plain = /^[{[]\s*&(?:quot|#34|#x22);/i.test(text) ? withoutEntities(text) : text
  if (plain[0] !== '{' && plain[0] !== '[') return undefined
  return JSON5.parse<unknown>(quiet(withEscapedBreaks(plain)))
}

const entities: Readonly<Record<string, string>> = {
  ...{ quot: '"', '#34': '"', '#x22': '"', apos: "'", '#39': "'", '#x27': "'" },
  ...{ lt: '<', gt: '>', amp: '&' },
}

const withoutEntities = (text: string): string =>
  text.replace(/&(quot|apos|lt|gt|amp|#34|#39|#x22|#x27);/gi, (_, name: string) => entities[name.toLowerCase()]!)

function withEscapedBreaks(text: string): string {
  const parts: string[] = []
  let quote = ''
  let from = 0
  for (let i = 0; i < text.length; i++) {
    const char = text[i]!
    if (quote === '' && (char === '"' || char === "'")) quote = char
    else if (char === quote) quote = ''
    else if (quote !== '' && char === '\\') i++
    else if (quote !== '' && breaks[char] !== undefined) {
      parts.push(text.slice(from, i), breaks[char])
      from = i + 1
    }
  }
  return parts.join('') + text.slice(from)
}

const breaks: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r' }

function orUndefined<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}

/** JSON5 warns of these on the console when they stand in strings. */
const quiet = (text: string): string =>
  text.replace(/[\u2028\u2029]/g, (char) => (char === '\u2028' ? '\\u2028' : '\\u2029'))

/** Never half a character. */
const beginningOf = (text: string): string => text.slice(0, mostUnread).replace(/[\uD800-\uDBFF]$/, '')
