import { messageOf, printable } from '../core/errors.ts'
import { createRedactor, redactedStart } from '../platform/redact.ts'
import { fullyVisible, visibleText } from '../platform/visible-text.ts'
import type { McpServerConfig } from './config.ts'
import { cutBytes } from './definitions/untrusted-data.ts'

const mostRead = 64 * 1024
const mostShown = 2048

/** The text of an error of a server, for models, people and logs: short, without secrets and hidden characters. */
export function toErrorText(error: unknown, secrets: readonly string[] = []): string {
  const known = secrets.filter((secret) => secret.length >= 4)
  const said = printable(messageOf(error)).replace(fromLibrary, '')
  const text = redactedStart(createRedactor({ secrets: known }), said, mostRead)
  return cutBytes(fullyVisible(text, { lines: 'kept' }), mostShown) || 'it gave no reason'
}

/** The beginning of a text of a server, for people: without secrets and control characters. */
export function shortText(text: string, most: number, secrets: readonly string[]): string {
  return visibleText(redactedStart(createRedactor({ secrets }), text, most)).slice(0, most)
}

/** A prefix of the SDK that means nothing to a person. */
const fromLibrary = /^Version negotiation (?:probe )?failed: (?=.)/

/** The secrets in a server's configuration, to be redacted. */
export function secretsOf({ headers = {}, env = {}, url }: McpServerConfig): string[] {
  const address = url === undefined ? null : URL.parse(url)
  const inAddress = address ? [decoded(address.password), ...address.searchParams.values()] : []
  // A server may repeat the x of "Bearer x" alone.
  const inHeaders = Object.values(headers).flatMap((value) => [value, ...value.split(' ').slice(1)])
  const inEnv = Object.entries(env).flatMap(([name, value]) => (isOrdinary(name, value) ? [] : [value]))
  return [...inHeaders, ...inEnv, ...inAddress].filter((secret) => secret.length >= shortest)
}

/** A path, or a word such as `production`: redacting it would make errors unreadable. */
function isOrdinary(name: string, value: string): boolean {
  return !secretName.test(name) && (/^[~/.][\w./~-]*$/.test(value) || /^[a-z]{1,20}$/i.test(value))
}

const secretName = /key|token|secret|pass|auth|cred|private|cookie/i

/** Shorter texts would match everywhere. */
const shortest = 4

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
