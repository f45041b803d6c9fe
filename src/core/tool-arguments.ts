import { isRecord } from './is-record.ts'
import { readObjectText } from './object-text.ts'
import { deepest, flawOf, type JsonFlaw, typeName } from './plain-json.ts'
import { copyJson, type ToolCallBlock } from './turn.ts'

type Read = Pick<ToolCallBlock, 'input' | 'raw' | 'unreadable'>

/** The arguments of a call, out of whatever a wire handed over. A cut-off or unreadable text never becomes an input. */
export function readArguments(given: unknown, wasCut: boolean): Read {
  if (wasCut) return unreadable(given, 'the reply hit the output limit before the arguments were complete')
  if (typeof given !== 'string') return admit(given)
  if (given.trim() === '') return { input: {} }
  const read = readObjectText(given)
  if (read.problem !== undefined) return unreadable(given, read.problem)
  return read.isJson && read.isComplete ? { input: read.value } : { input: read.value, raw: given.toWellFormed() }
}

/** An object that a service parsed itself. */
function admit(given: unknown): Read {
  if (!isRecord(given)) return unreadable(given, `expected a JSON object, got ${typeName(given)}`)
  const flaw = flawOf(given)
  return flaw ? unreadable(given, flaws[flaw]) : { input: copyJson(given) }
}

const flaws: Readonly<Record<JsonFlaw, string>> = {
  'too deep': `nested deeper than ${deepest} levels`,
  'no number': 'it holds a number too large to be one',
  'malformed text': 'it holds half a character (one surrogate without the other)',
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
