import { isRecord } from '../../core/is-record.ts'
import { isPlainJson, parsedJson } from '../../core/plain-json.ts'
import { headOf } from '../../core/text.ts'
import { type ObjectText, parseObjectText } from '../../core/tool-arguments.ts'

/** The parameters of a call: their text, and the object that the engine's reader makes of it. */
interface Parameters {
  readonly text: string
  readonly read: ObjectText
}

/** Reads the parameters of a call. With `nameIn: 'json'` the body also has the name. */
export function readParameters(body: string, nameIn?: 'json'): Parameters {
  const text = nameIn === 'json' ? (readNamedCall(body)?.parameters ?? '') : body.trim()
  return { text, read: text === '' ? nothing : parseObjectText(text) }
}

const nothing: ObjectText = { value: {}, sources: new Map(), isJson: true, isLossless: true }

/** The parameters for the events of the stream: as written, or as JSON if the body also has the name. */
export function parametersText(body: string, nameIn?: 'json'): string {
  const { text, read } = readParameters(body, nameIn)
  return nameIn === 'json' && read.problem === undefined ? JSON.stringify(read.value) : text
}

/** The name in the body of a call, and the text of its parameters; `undefined` without a name. */
export function readNamedCall(body: string): { name: string; parameters: string } | undefined {
  const text = body.trim()
  const read = parseObjectText(text)
  if (read.problem !== undefined) {
    // A call whose JSON cannot be read is still one, and is refused by its name.
    const name = /^\{\s*"name"\s*:\s*"([^"\\]*)"/.exec(text)?.[1]?.trim()
    return name ? { name, parameters: text } : undefined
  }
  const { name, arguments: given, parameters } = read.value
  if (typeof name !== 'string' || name.trim() === '') return undefined
  const key = (given ?? undefined) === undefined ? 'parameters' : 'arguments'
  const value = given ?? parameters ?? {}
  return { name: name.trim(), parameters: read.sources.get(key) ?? JSON.stringify(value) }
}

/** Whether a text is a complete object. */
export function isObjectText(text: string): boolean {
  return parseObjectText(text).problem === undefined
}

/** How many characters of unreadable parameters are kept. */
const mostUnread = 1000

/** Parameters that are no object, as an object with one field. */
export function inputOf(text: string): Record<string, unknown> {
  const value = parsedJson(text)
  const isPlain = value !== undefined && !isRecord(value) && isPlainJson({ value })
  return { input: isPlain ? value : headOf(text, mostUnread) }
}
