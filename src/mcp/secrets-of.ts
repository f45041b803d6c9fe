import type { McpServerConfig } from './config.ts'

/** What we give to a server and must not be repeated to anybody else. */
export function secretsOf({ headers = {}, env = {}, url }: McpServerConfig): string[] {
  const address = url === undefined ? null : URL.parse(url)
  const inAddress = address ? [decoded(address.password), ...address.searchParams.values()] : []
  // Of "Bearer x" a server may repeat the x alone.
  const inHeaders = Object.values(headers).flatMap((value) => [value, ...value.split(' ').slice(1)])
  const inEnv = Object.entries(env).flatMap(([name, value]) => (isOrdinary(name, value) ? [] : [value]))
  return [...inHeaders, ...inEnv, ...inAddress].filter((secret) => secret.length >= shortest)
}

/** A path, or a word such as `production`: taking it out of errors would hide what they say. */
function isOrdinary(name: string, value: string): boolean {
  return !secretName.test(name) && (/^[~/.][\w./~-]*$/.test(value) || /^[a-z]{1,20}$/i.test(value))
}

const secretName = /key|token|secret|pass|auth|cred|private|cookie/i

/** What is shorter would be found everywhere. */
const shortest = 4

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
