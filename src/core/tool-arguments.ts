import { messageOf } from './errors.ts'
import { isRecord } from './is-record.ts'
import { type LenientJson, LenientJsonError, parseLenientJson } from './lenient-json.ts'
import { flawOf, type JsonFlaw, maxNesting, parsedJson, typeName } from './plain-json.ts'
import type { JsonSchema } from './tool.ts'
import { copyJson, type ToolCallBlock } from './turn.ts'

type ParsedArguments = Pick<ToolCallBlock, 'input' | 'raw' | 'unreadable'>

/**
 * Parses the arguments of a call as a wire passes them. A truncated or unreadable text never becomes an input. The
 * schema is that of the tool, if it is known.
 */
export function parseArguments(given: unknown, wasCut: boolean, schema?: JsonSchema): ParsedArguments {
  if (wasCut) return unreadable(given, 'the reply hit the output limit before the arguments were complete')
  if (typeof given !== 'string') return normalizeObject(given)
  if (given.trim() === '') return { input: {} }
  const parsed = parseObjectText(given, schema)
  if (parsed.problem !== undefined) return unreadable(given, parsed.problem)
  return parsed.isJson && parsed.isLossless
    ? { input: parsed.value }
    : { input: parsed.value, raw: given.toWellFormed() }
}

/** Checks and copies an object that the service has parsed. */
function normalizeObject(given: unknown): ParsedArguments {
  if (!isRecord(given)) return unreadable(given, `expected a JSON object, got ${typeName(given)}`)
  const flaw = flawOf(given)
  return flaw ? unreadable(given, flaws[flaw]) : { input: copyJson(given) }
}

const flaws: Readonly<Record<JsonFlaw, string>> = {
  'too deep': `nested deeper than ${maxNesting} levels`,
  'no number': 'it holds a number that is too large for JSON',
  'malformed text': 'it holds half a character (one surrogate without the other)',
}

function unreadable(given: unknown, why: string): ParsedArguments {
  return { input: {}, raw: (typeof given === 'string' ? given : textOf(given)).toWellFormed(), unreadable: why }
}

/** The text for the log; empty if the value is nested too deeply. */
function textOf(value: unknown): string {
  try {
    return JSON.stringify(value) ?? String(value)
  } catch {
    return ''
  }
}

/** The object in a text, or why there is none. */
export type ObjectText =
  | {
      readonly value: Record<string, unknown>
      /** The source text of each property's value; empty if `JSON.stringify` writes all of them the same. */
      readonly sources: ReadonlyMap<string, string>
      readonly isJson: boolean
      /**
       * The text can be restored from the value: all numbers are written as JavaScript writes them. Otherwise `raw` is
       * kept, because a string property needs `3.10`, not `3.1`.
       */
      readonly isLossless: boolean
      readonly problem?: undefined
    }
  | { readonly problem: string }

/** Parses one object: JSON, or JSON with errors that have only one possible meaning. */
export function parseObjectText(text: string, schema?: JsonSchema): ObjectText {
  const parsed = parsedJson(text)
  if (parsed !== undefined && typeof parsed !== 'string' && !isRecord(parsed))
    return { problem: `expected a JSON object, got ${typeName(parsed)}` }
  // If writing the value gives the same text, nothing was lost: no digit, no duplicate property.
  if (isRecord(parsed) && !flawOf(parsed) && JSON.stringify(parsed) === text)
    return { value: parsed, sources: new Map(), isJson: true, isLossless: true }
  try {
    const { value, sources, hasOtherNotation } = parseWrappedJson(text, schema)
    if (!isRecord(value)) return { problem: `expected a JSON object, got ${typeName(value)}` }
    return { value, sources, isJson: isRecord(parsed), isLossless: !hasOtherNotation }
  } catch (error) {
    return { problem: messageOf(error) }
  }
}

/** How many strings of JSON may be nested in each other. */
const maxLayers = 3

/**
 * Parses JSON with what models put around it: a code fence, CDATA, a function name, another layer of quotes, HTML
 * entities. Each is removed only if it is complete, so that no part of the JSON is removed with it.
 */
export function parseWrappedJson(text: string, schema?: JsonSchema, layers = maxLayers): LenientJson {
  const bare = withoutFrame(text)
  const decoded = withoutEntities(bare) ?? withoutEscapes(bare)
  if (decoded !== undefined) return parseInner(decoded, schema, layers)
  const parsed = parseLenientJson(bare, schema)
  const isInner = typeof parsed.value === 'string' && /^\s*[{["']/.test(parsed.value)
  return isInner ? parseInner(parsed.value as string, schema, layers) : parsed
}

function parseInner(text: string, schema: JsonSchema | undefined, layers: number): LenientJson {
  if (layers === 0) throw new LenientJsonError(`there are more than ${maxLayers} layers of text around it`)
  try {
    return parseWrappedJson(text, schema, layers - 1)
  } catch (error) {
    throw error instanceof LenientJsonError ? new LenientJsonError(`in the text inside, ${error.message}`) : error
  }
}

const frames: readonly { readonly open: RegExp; readonly ends: readonly string[] }[] = [
  // The end of a fence may be missing: the object inside has an end of its own.
  { open: /^\s*```[a-z\d]*/i, ends: ['```', ''] },
  { open: /^\s*<!\[CDATA\[/, ends: [']]>'] },
  { open: /^\s*[\p{L}_$][\p{L}\p{N}_$.]*\((?=\s*\{)/u, ends: [')', ');', ') ;'] },
]

/** Removed parts are replaced by spaces, so that positions in messages are those of the given text. */
function withoutFrame(text: string): string {
  let bare = text.trimEnd()
  for (const { open, ends } of frames) {
    const head = open.exec(bare)?.[0].length
    const end = ends.find((ending) => bare.endsWith(ending))
    if (head === undefined || end === undefined || bare.length - end.length < head) continue
    bare = ' '.repeat(head) + bare.slice(head, bare.length - end.length).trimEnd()
  }
  return bare
}

const entities: Readonly<Record<string, string>> = {
  ...{ quot: '"', '#34': '"', '#x22': '"', apos: "'", '#39': "'", '#x27': "'" },
  ...{ lt: '<', gt: '>', amp: '&' },
}
const entity = /&(quot|apos|lt|gt|amp|#34|#39|#x22|#x27);/gi

/** Decodes a text in which every quote, bracket and ampersand is an entity; `undefined` for any other. */
function withoutEntities(text: string): string | undefined {
  if (!/^\s*\{\s*&(?:quot|#34|#x22);/i.test(text) || /["<>&]/.test(text.replace(entity, ''))) return undefined
  return text.replace(entity, (_, name: string) => entities[name.toLowerCase()]!)
}

/** Decodes the inside of a JSON string, `{\"a\": 1}`; `undefined` for any other text. */
function withoutEscapes(text: string): string | undefined {
  if (!/^\s*\{\s*\\"/.test(text)) return undefined
  try {
    return JSON.parse(`"${text.trim()}"`) as string
  } catch {
    return undefined
  }
}
