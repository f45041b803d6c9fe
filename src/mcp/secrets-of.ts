import type { McpServerConfig } from './config.ts'

/** What we give to a server and must not be repeated to anybody else. */
export function secretsOf({ headers = {}, env = {}, url }: McpServerConfig): string[] {
  const address = url === undefined ? null : URL.parse(url)
  const inAddress = address ? [decoded(address.password), ...address.searchParams.values()] : []
  // Of "Bearer x" a server may repeat the x alone.
  const inHeaders = Object.values(headers).flatMap((value) => [value, ...value.split(' ').slice(1)])
  return [...inHeaders, ...Object.values(env), ...inAddress].filter((secret) => secret.length >= shortest)
}

/** What is shorter would be found everywhere. */
const shortest = 4

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
