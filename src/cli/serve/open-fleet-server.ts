import { createAuthority } from '../../authority/authority.ts'
import { joinWorkers } from '../../durable/join-workers.ts'
import { createServer } from '../../server/create-server.ts'
import type { ServeValues } from '../commands/serve.ts'
import { loadFleet } from '../fleet/load-fleet.ts'
import type { Io } from '../io.ts'
import { loopback, type OpenedServer } from './open-server.ts'

/** The server in front of the workers of a fleet. It stores messages and answers, and runs no agent itself. */
export async function openFleetServer(
  values: ServeValues & { readonly fleet: string },
  { io, token, notify }: { readonly io: Io; readonly token: string; readonly notify: (text: string) => void },
): Promise<OpenedServer> {
  const {
    'allowed-host': hosts = [],
    'allowed-origin': allowedOrigins = [],
    'webhook-host': allowPrivate = [],
  } = values
  const fleet = await loadFleet(values.fleet, io)
  const authority = createAuthority({ home: io.home })
  const server = createServer({
    ...{ store: fleet.store, fleet, auth: { token }, allowedOrigins },
    authorityFor: async () => authority,
    workflowFor: async () => fleet.workflow,
    allowedHosts: [...loopback, ...hosts],
    webhooks: { allowPrivate },
    join: joinWorkers(fleet),
    onError: ({ message }) => notify(message),
  })
  return {
    server,
    start: () => server.start(),
    async close() {
      await server.close()
      await Promise.all([authority.close(), fleet.close()])
    },
  }
}
