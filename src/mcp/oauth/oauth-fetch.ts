import { messageOf } from '../../core/errors.ts'
import { McpHttpError, mayHaveBody } from '../http/transport-fetch.ts'

/** A fetch for metadata documents, which remembers whether one was missing only for the moment. */
export interface DiscoveryFetch {
  readonly fetch: typeof globalThis.fetch
  /** A server was busy, or answered with something that is no document. The SDK goes on as if there were none. */
  hadTrouble(): boolean
}

/** Reads each answer to its end before it is handed on: one that breaks off is a failure, and not a server without metadata. */
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

/** A fetch for token endpoints. Some write `null` for what they do not give, and leave out what everybody knows. */
export function tokenFetch(fetch: typeof globalThis.fetch): typeof globalThis.fetch {
  return async (input, init) => {
    const response = await fetch(input, init)
    if (!response.ok) return response
    const text = await response.text()
    const { status, statusText, headers } = response
    return new Response(mended(text), { status, statusText, headers })
  }
}

function mended(text: string): string {
  try {
    const answer: unknown = JSON.parse(text)
    if (typeof answer !== 'object' || answer === null || Array.isArray(answer)) return text
    const given = Object.entries(answer).filter(([, value]) => value !== null)
    return JSON.stringify({ token_type: 'Bearer', ...Object.fromEntries(given) })
  } catch {
    return text // whoever reads it says what is wrong with it
  }
}
