import { SessionBusyError } from '../core/errors.ts'
import type { SessionSummary } from '../core/store.ts'
import { sleep } from '../core/waiting.ts'
import { loadSession, openSession } from '../sessions/session.ts'
import { beforePrompt } from './before-prompt.ts'
import type { ReplyToFollow } from './follow-reply.ts'
import { kindFor } from './kind-for.ts'
import { Problem } from './problem.ts'
import type { Call } from './route.ts'
import { sendMessage } from './routes/send-message.ts'

/** Sends a prompt, unless the session has it already, and says where its reply is. */
export async function sendOnce(
  call: Call,
  { id, head, status, attention, isHeld }: SessionSummary,
  { clientKey, content }: { readonly clientKey: string; readonly content: unknown },
): Promise<ReplyToFollow> {
  const { store } = call.server
  if (await (await loadSession(store, id)).log.hasAccepted(clientKey))
    return { id, clientKey, after: (await beforePrompt(store, id, clientKey)) ?? 0 }
  if (status === 'parked')
    throw new Problem(409, 'parked', 'This session is parked after repeated crashes; POST …/unpark allows runs again')
  // It would wait for the answer, and its client for the reply.
  if (status === 'waiting' && attention !== 'answered' && !isHeld)
    throw new Problem(409, 'call_waits', 'A call of this session waits for a person; answer it before the next message')
  await sendMessage(call, id, { content, mode: 'prompt', clientKey })
  return { id, clientKey, after: head }
}

/** The session of this name, made with these details if there is none. */
export async function chatSession(
  { names, server }: Call,
  name: string,
  details: { readonly tags?: readonly string[] } = {},
): Promise<SessionSummary> {
  const { store } = server
  const id = names.stored(name)
  if (await store.find(id)) return names.find(store, name)
  const all = {
    ...details,
    ...kindFor(server.options.fleet),
    ...(names.tenant !== undefined && { tenant: names.tenant }),
  }
  await whenFree(server, id, async () => (await openSession(store, id, all)).save())
  return names.find(store, name)
}

/** Writes to a session between runs. One that has just ended holds it for a moment more. */
export async function whenFree(
  server: Pick<Call['server'], 'store' | 'clock'>,
  id: string,
  write: () => Promise<void>,
  tries = 40,
): Promise<void> {
  try {
    await write()
  } catch (error) {
    if (!(error instanceof SessionBusyError) || tries === 0) throw error
    if ((await server.store.find(id))?.status === 'working') throw error
    await sleep(50, { clock: server.clock })
    await whenFree(server, id, write, tries - 1)
  }
}
