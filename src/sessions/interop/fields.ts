import { show } from '../../core/behavior.ts'
import { deepest, flawOf } from '../../core/plain-json.ts'

/** An object of outside data whose fields nobody has looked at yet. */
export type Fields = Readonly<Record<string, unknown>>

/** The roles a canonical or an Anthropic message may have. */
export const canonicalRoles: readonly string[] = ['user', 'assistant']

/** The canonical block types, for error messages. */
export const canonicalTypes = 'text, image, document, thinking, tool_call or tool_result'

/** Refuses what is no list of messages with known roles, before anything relies on it. */
export function requireMessages(messages: unknown, roles: readonly string[]): void {
  for (const [i, message] of requireList(messages, 'messages', 'an array of messages').entries()) {
    const { role } = requireObject(message, `messages[${i}]`)
    if (!roles.some((known) => known === role)) fail(`messages[${i}].role`, role, roles.join(', '))
  }
}

/** The value as a list, or a TypeError that says where it stands. */
export function requireList(value: unknown, at: string, accepted: string): readonly unknown[] {
  return Array.isArray(value) ? value : fail(at, value, accepted)
}

/** The value as an object, or a TypeError that says where it stands. */
export function requireObject(value: unknown, at: string): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return fail(at, value, 'an object')
  return value as Fields
}

/** A field that must be a string. */
export function requireText(fields: Fields, key: string, at: string): string {
  const value = fields[key]
  return typeof value === 'string' ? value : fail(`${at}.${key}`, value, 'a string')
}

/** A field that may be missing or null, under its new name. */
export function optionalText<K extends string>(
  fields: Fields,
  key: string,
  name: K,
  at: string,
): { [name in K]?: string } {
  if (fields[key] === undefined || fields[key] === null) return {}
  return { [name]: requireText(fields, key, at) } as { [name in K]?: string }
}

/** Tool arguments: a JSON object, no deeper than a call of ours may be. */
export function requireInput(value: unknown, at: string): Record<string, unknown> {
  const input = requireObject(value, at)
  return flawOf(input) === 'too deep' ? fail(at, input, `an object nested at most ${deepest} deep`) : input
}

/** Says where in the input something stands, what was found and what would have been accepted. */
export function fail(at: string, found: unknown, accepted: string): never {
  throw new TypeError(`${at}: found ${show(found)}, accepted: ${accepted}`)
}
