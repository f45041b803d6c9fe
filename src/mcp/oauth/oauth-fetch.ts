import { messageOf } from '../../core/errors.ts'
import { McpHttpError, mayHaveBody } from '../http/transport-fetch.ts'

/** A fetch for metadata documents that records temporary failures. */
interface DiscoveryFetch {
  readonly fetch: typeof globalThis.fetch
  /** Whether a server was busy or answered with no document. The SDK then continues as if there were none. */
  hadTrouble(): boolean
}

/** Reads each response to its end first: one that breaks off is an error, not a server without metadata. */
export function discoveryFetch(fetch: typeof globalThis.fetch): DiscoveryFetch {
  let isTroubled = false
  return {
    hadTrouble: () => isTroubled,
    async fetch(input, init) {
      const response = await fetch(input, init)
      const { status, statusText, headers } = response
      const text = await response.text().catch((error: unknown) => {
        if (init?.signal?.aborted || error instanceof McpHttpError) throw error
        throw new McpHttpError('network', `an answer broke off (${messageOf(error)}); try again later`)
      })
      if (status >= 500 || status === 429 || (response.ok && !isJson(text))) isTroubled = true
      return new Response(mayHaveBody(status) ? text : null, { status, statusText, headers })
    },
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** A fetch for token endpoints. Repairs answers with `null` fields or without `token_type`. */
export function tokenFetch(fetch: typeof globalThis.fetch): typeof globalThis.fetch {
  return async (input, init) => {
    const response = await fetch(input, init)
    if (!response.ok) return response
    const text = await response.text()
    const { status, statusText, headers } = response
    return new Response(repaired(text), { status, statusText, headers })
  }
}

function repaired(text: string): string {
  try {
    const answer: unknown = JSON.parse(text)
    if (typeof answer !== 'object' || answer === null || Array.isArray(answer)) return text
    const given = Object.entries(answer).filter(([, value]) => value !== null)
    return JSON.stringify({ token_type: 'Bearer', ...Object.fromEntries(given) })
  } catch {
    return text // the SDK reports what is wrong with it
  }
}
