import type { InputMode } from '../../core/log.ts'
import type { Meta } from '../../core/meta.ts'
import { parsePrompt } from '../../core/run-options.ts'
import type { SessionStore } from '../../core/store.ts'
import type { SessionContentBlock } from '../../core/turn.ts'
import { inboxOf } from '../../sessions/pending.ts'
import { loadSession } from '../../sessions/session.ts'
import { badRequest } from '../problem.ts'
import type { Call } from '../route.ts'
import { tenantOf } from '../session-names.ts'

export interface NewMessage {
  readonly content: unknown
  readonly mode: 'prompt' | 'steer' | 'followUp'
  /** A second message with the same key is ignored. Default: the Idempotency-Key of the request. */
  readonly clientKey?: string
  /** Added to what the server notes about the sender. */
  readonly meta?: Meta
}

/** Throws unless a message to this session would be taken now. Nothing is stored or counted. */
export function checkMessage({ request, caller, names, server }: Call, id: string, content: unknown): void {
  keyOf(request)
  blocksOf(content)
  server.work.checkRoom(id, names.tenant)
  server.rates.checkMessage(rateKey(names.tenant, caller.user))
}

/** Stores a message for a session and sees to it that a run answers it. Resolves with its key once it is durable. */
export async function sendMessage(
  call: Call,
  id: string,
  { content, mode, clientKey, meta }: NewMessage,
): Promise<string> {
  const { request, caller, names, server } = call
  const key = clientKey ?? keyOf(request)
  const blocks = blocksOf(content)
  const tenant = await tenantOf(server.store, id)
  try {
    server.work.checkRoom(id, tenant)
    server.rates.countMessage(rateKey(names.tenant, caller.user))
  } catch (error) {
    if (await isStored(server.store, id, key)) return key // a repeated request is no further message
    throw error
  }
  await server.store.send(id, {
    clientKey: key,
    mode: modeFor(mode),
    content: blocks,
    meta: { ...meta, user: caller.user, via: 'http' },
  })
  server.work.wake(id, tenant)
  return key
}

/** Whose messages are counted together. */
export const rateKey = (tenant: string | undefined, user: string): string => `${tenant ?? ''}/${user}`

/** Whether a session has a message with this key, delivered or not. */
export async function isStored(store: SessionStore, id: string, clientKey: string): Promise<boolean> {
  if ((await inboxOf(store, id)).some((item) => item.clientKey === clientKey)) return true
  return (await loadSession(store, id)).log.hasAccepted(clientKey)
}

/** A prompt while a run is under way is answered after it; the run that is there takes it from the inbox. */
const modeFor = (mode: NewMessage['mode']): InputMode => (mode === 'prompt' ? 'followUp' : mode)

function blocksOf(content: unknown): readonly SessionContentBlock[] {
  try {
    const blocks = parsePrompt(content)
    if (blocks) return blocks
  } catch (error) {
    throw badRequest(
      `The content of the message cannot be used: ${error instanceof Error ? error.message.slice(0, 300) : ''}`,
    )
  }
  throw badRequest('There is no message; send content as a text or a list of parts')
}

/** Requests with the same key are one message. */
export function keyOf({ headers }: Request): string {
  const key = headers.get('idempotency-key')
  if (key === null) return crypto.randomUUID()
  if (!/^[\x21-\x7e]{1,200}$/.test(key)) throw badRequest('The Idempotency-Key has 1 to 200 visible ASCII characters')
  return key
}
