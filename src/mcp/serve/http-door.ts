import { admitBody, checkHttpOptions, type McpHttpOptions, refuse } from './http-guard.ts'
import { LegacyConnections } from './legacy-connections.ts'
import { makeServer, type ServerParts } from './make-server.ts'

/** A face over HTTP, for clients of both eras. */
export interface HttpDoor {
  fetch(request: Request, options: McpHttpOptions): Promise<Response>
  close(): Promise<void>
}

/** Opens the way in. Nobody passes without the token. */
export function openHttpDoor(parts: ServerParts, report: (error: Error) => void): HttpDoor {
  const { sdk } = parts.loaded
  const handler = sdk.createMcpHandler(() => makeServer(parts, 'modern'), { legacy: 'reject', onerror: report })
  const legacy = new LegacyConnections(sdk, () => makeServer(parts, 'legacy'))
  return {
    async fetch(request, options) {
      checkHttpOptions(options)
      const refused = await refuse(request, options)
      if (refused) return refused
      const admitted = await admitBody(request, options.maxBodyBytes)
      if (admitted instanceof Response) return admitted
      return (await sdk.isLegacyRequest(admitted)) ? legacy.handle(admitted) : handler.fetch(admitted)
    },
    async close() {
      await Promise.allSettled([handler.close(), legacy.close()])
    },
  }
}
