const secretPrefix = 'whsec_'

/** A new secret, as Standard Webhooks writes them. */
export const newWebhookSecret = (): string =>
  secretPrefix + Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString('base64')

/** The key in a secret; undefined if it is none, or has not 24 to 64 bytes. */
export function keyInSecret(secret: string): Uint8Array<ArrayBuffer> | undefined {
  const [, text] = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(secret) ?? []
  if (text === undefined) return undefined
  const key = Uint8Array.from(Buffer.from(text, 'base64'))
  const isWhole = Buffer.from(key).toString('base64').replace(/=+$/, '') === text.replace(/=+$/, '')
  return isWhole && key.length >= 24 && key.length <= 64 ? key : undefined
}

/** The headers of a request by Standard Webhooks. The id must have no full stop: the signature is made over `id.time.body`. */
export async function signedHeaders(
  secret: string,
  { id, body, now }: { readonly id: string; readonly body: string; readonly now: number },
): Promise<Readonly<Record<string, string>>> {
  const raw = keyInSecret(secret)
  if (!raw) throw new Error('The secret of a webhook cannot be read; delete the webhook and make it anew')
  const seconds = String(Math.floor(now / 1000))
  const key = await crypto.subtle.importKey('raw', raw, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign'])
  const mac = await crypto.subtle.sign('HMAC', key, new TextEncoder().encode(`${id}.${seconds}.${body}`))
  const signature = `v1,${Buffer.from(mac).toString('base64')}`
  return { 'webhook-id': id, 'webhook-timestamp': seconds, 'webhook-signature': signature }
}
