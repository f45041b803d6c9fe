import { parseArguments } from '../../src/core/tool-arguments.ts'
import { validateToolArgs } from '../../src/core/tool-input.ts'
import type { ReadCase } from './arguments.ts'

/** Reads and checks arguments as the engine does before it asks about a call. */
export const readAsEngine: ReadCase = ({ text, schema }) => {
  const { input, raw, unreadable } = parseArguments(text, false, schema)
  if (unreadable !== undefined) return undefined
  const checked = validateToolArgs(input, schema, raw)
  return checked.valid ? checked.input : undefined
}
