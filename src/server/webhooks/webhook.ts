/** The events that a webhook can report. */
export const webhookEvents = ['run_ended', 'approval_requested', 'parked'] as const

export type WebhookEvent = (typeof webhookEvents)[number]

/** An address that receives events of sessions. */
export interface Webhook {
  readonly url: string
  readonly events: readonly WebhookEvent[]
  /** What requests are signed with. No answer, error or log has it after the webhook was made. */
  readonly secret: string
  readonly createdAt: number
}

export interface WebhookOptions {
  /** Whether this server delivers. `false` if others do, as the workers of a fleet. Default true. */
  readonly deliver?: boolean
  /** Hosts that may be private and asked over plain http, such as `localhost:8080`. Default: none. */
  readonly allowPrivate?: readonly string[]
  /** How long a receiver may take to answer. Default 15,000. */
  readonly timeoutMs?: number
  /** Finds all addresses of a name. Default: the resolver of this machine. */
  readonly resolve?: (host: string) => Promise<readonly string[]>
}

/** The kind of the sessions that hold webhooks. */
export const webhookKind = 'webhook'

/** Their ids begin with this, and no client can name such an id: their logs have secrets. */
export const webhookPrefix = 'libero.webhooks.'

/** Whether a session holds a webhook. */
export const isWebhookId = (id: string): boolean => id.startsWith(webhookPrefix)

/** The id of a webhook as clients know it. */
export const webhookName = (id: string): string => id.slice(webhookPrefix.length)
