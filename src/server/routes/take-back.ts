import { SessionBusyError } from '../../core/errors.ts'
import type { InboxItem } from '../../core/log.ts'
import type { SessionStore } from '../../core/store.ts'
import { sleep } from '../../core/waiting.ts'
import { eachEntryBackwards } from '../../sessions/history.ts'
import { inboxOf } from '../../sessions/pending.ts'
import { loadSession } from '../../sessions/session.ts'
import { hasScope } from '../caller.ts'
import { Problem, refuseSubAgent } from '../problem.ts'
import { type Call, json } from '../route.ts'
import { tenantOf } from '../session-names.ts'

/** How often, every 50 ms, it is tried while an agent is being opened, or a message is on its way into the log; and if another program has the session, which may be about to end. */
const tries = { here: 60, elsewhere: 10 }

/** Takes a message back. What the log says afterwards is the answer: the model gets it, or the person has it again. */
export async function takeBack({ params, names, caller, server }: Call): Promise<Response> {
  const { store, work, clock } = server
  const summary = await names.find(store, params.id!)
  refuseSubAgent(summary)
  const { id } = summary
  const clientKey = params.clientKey!
  const tenant = await tenantOf(store, id)

  /** Does nothing while the run that may have the message is about to begin. */
  async function tryOnce(): Promise<void> {
    const running = work.session(id)
    if (running?.log.transcript.isRunActive) await running.takeBack(clientKey)
    else if (!work.has(id))
      await work.whileIdle(id, tenant, async () => (await loadSession(store, id)).takeBack(clientKey))
  }

  const most = summary.isHeld && !work.has(id) ? tries.elsewhere : tries.here
  for (let done = 0; ; done++) {
    const { state, content } = await findMessage(store, id, clientKey)
    if (state === 'withdrawn') return json({ clientKey, ...(hasScope(caller, 'read') && { content }) })
    if (state === 'delivered')
      throw new Problem(409, 'delivered', 'The model has this message; it cannot be taken back')
    if (state === 'none')
      throw new Problem(404, 'no_message', 'No message of this key waits in this session; it was never sent, or is old')
    if (done === most)
      throw new Problem(409, 'elsewhere', 'Another program runs this session; the message cannot be taken back here')
    if (done > 0) await sleep(50, { clock })
    await tryOnce().catch((error: unknown) => {
      if (!(error instanceof SessionBusyError)) throw error
    })
  }
}

interface FoundMessage {
  readonly state: 'waiting' | 'delivered' | 'withdrawn' | 'none'
  readonly content?: InboxItem['content']
}

/** A message in the inbox of the store, else in the log, from its end. */
async function findMessage(store: SessionStore, id: string, clientKey: string): Promise<FoundMessage> {
  const { head } = (await store.find(id)) ?? {}
  if ((await inboxOf(store, id, head)).some((item) => item.clientKey === clientKey)) return { state: 'waiting' }
  const withdrawn = new Set<string>()
  const delivered = new Set<string>()
  for await (const entry of eachEntryBackwards(store, id)) {
    if (entry.type === 'withdrawn') withdrawn.add(entry.input)
    if (entry.type !== 'turn' && entry.type !== 'input') continue
    if (entry.type === 'turn') for (const one of entry.consumed ?? []) delivered.add(one)
    if (entry.clientKey !== clientKey) continue
    if (entry.type === 'turn' || delivered.has(entry.id)) return { state: 'delivered' }
    return { state: withdrawn.has(entry.id) ? 'withdrawn' : 'waiting', content: entry.content }
  }
  return { state: 'none' }
}
