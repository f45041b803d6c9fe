import { messageOf } from './errors.ts'
import { isRecord } from './is-record.ts'
import { flawOf, typeName } from './plain-json.ts'
import { readWrappedJson } from './wrapped-json.ts'

/** The object that a text says, or why it says none. */
export type ObjectText =
  | {
      readonly value: Record<string, unknown>
      /** The text of each property's value; empty where `JSON.stringify` writes all of them the same. */
      readonly sources: ReadonlyMap<string, string>
      readonly isJson: boolean
      /** The value says all that the text does: no number is written in another way than its property would be. */
      readonly isComplete: boolean
      readonly problem?: undefined
    }
  | { readonly problem: string }

/** Reads one object, as JSON or with slips that leave no doubt about what was meant. */
export function readObjectText(text: string): ObjectText {
  const parsed = parsedJson(text)
  if (parsed !== undefined && typeof parsed !== 'string' && !isRecord(parsed))
    return { problem: `expected a JSON object, got ${typeName(parsed)}` }
  // What is written again as it was read has lost nothing: no digit, no second property of the same name.
  if (isRecord(parsed) && !flawOf(parsed) && JSON.stringify(parsed) === text)
    return { value: parsed, sources: new Map(), isJson: true, isComplete: true }
  try {
    const { value, sources } = readWrappedJson(text)
    if (!isRecord(value)) return { problem: `expected a JSON object, got ${typeName(value)}` }
    const isComplete = [...sources].every(([key, source]) => isWrittenSo(value[key], source))
    return { value, sources, isJson: isRecord(parsed), isComplete }
  } catch (error) {
    return { problem: messageOf(error) }
  }
}

/** `3.10` is written as `3.1`; a property that takes a text wants the former. */
const isWrittenSo = (value: unknown, source: string): boolean => typeof value !== 'number' || String(value) === source

/** `undefined` for what is no JSON. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
