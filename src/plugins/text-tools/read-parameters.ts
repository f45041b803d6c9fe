import { isRecord } from '../../core/is-record.ts'
import { isPlainJson } from '../../core/plain-json.ts'
import { type ObjectText, parsedJson, readObjectText } from '../../core/tool-arguments.ts'

/** What stands between the tags of a call as parameters: their text, and what the engine's reader makes of it. */
interface Parameters {
  readonly text: string
  readonly read: ObjectText
}

/** The parameters of a call, which may have its name inside. They are only ever read, never run. */
export function readParameters(body: string, nameIn?: 'json'): Parameters {
  const text = nameIn === 'json' ? (readNamedCall(body)?.parameters ?? '') : body.trim()
  return { text, read: text === '' ? nothing : readObjectText(text) }
}

const nothing: ObjectText = { value: {}, sources: new Map(), isJson: true, isComplete: true }

/** The parameters for the events of the stream: as they were written, or as JSON where they stand beside a name. */
export function parametersText(body: string, nameIn?: 'json'): string {
  const { text, read } = readParameters(body, nameIn)
  return nameIn === 'json' && read.problem === undefined ? JSON.stringify(read.value) : text
}

/** The name of a call that has it inside, and the text of its parameters; `undefined` where it has none. */
export function readNamedCall(body: string): { name: string; parameters: string } | undefined {
  const text = body.trim()
  const read = readObjectText(text)
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

/** Whether a text is a whole object. */
export function isObjectText(text: string): boolean {
  return readObjectText(text).problem === undefined
}

/** So much is kept of parameters that cannot be read. */
const mostUnread = 1000

/** Parameters that are no object, for a program that looks at them. */
export function inputOf(text: string): Record<string, unknown> {
  const value = parsedJson(text)
  const isPlain = value !== undefined && !isRecord(value) && isPlainJson({ value })
  // Never half a character.
  return { input: isPlain ? value : text.slice(0, mostUnread).replace(/[\uD800-\uDBFF]$/, '') }
}
