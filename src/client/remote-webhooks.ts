import type { JsonRequests } from './json-requests.ts'

/** The addresses that a server sends events to. */
export interface RemoteWebhooks {
  list(): Promise<readonly RemoteWebhook[]>
  /** Gives the secret for the only time. Tried once. */
  make(webhook: {
    readonly url: string
    readonly events: readonly RemoteWebhookEvent[]
    /** Default: a new one. */
    readonly secret?: string
  }): Promise<RemoteWebhook & { readonly secret: string }>
  delete(id: string): Promise<void>
}

export type RemoteWebhookEvent = 'run_ended' | 'approval_requested' | 'parked'

export interface RemoteWebhook {
  readonly id: string
  readonly url: string
  readonly events: readonly RemoteWebhookEvent[]
  readonly createdAt: number
}

export function remoteWebhooks({ get, post, delete: remove }: JsonRequests): RemoteWebhooks {
  return {
    list: async () => (await get<{ webhooks: readonly RemoteWebhook[] }>('/v1/webhooks')).webhooks,
    make: (body) => post('/v1/webhooks', { body }),
    delete: (id) => remove(`/v1/webhooks/${encodeURIComponent(id)}`, 'no_webhook'),
  }
}
