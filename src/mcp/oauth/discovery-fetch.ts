import { messageOf } from '../../core/errors.ts'
import { McpHttpError } from '../http/mcp-http-error.ts'
import { mayHaveBody } from '../http/transport-fetch.ts'

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
