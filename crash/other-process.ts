import { loadSession } from '../src/sessions/session.ts'
import { openLedger } from './ledger.ts'
import { openStore, type StoreKind, sessionId } from './stores.ts'
import { watchedStore } from './watched-store.ts'

/** Sends a message to a session from this process, which does not run it. */
export async function sendFromOutside(kind: StoreKind, folder: string, clientKey: string): Promise<void> {
  const store = await openStore(kind, folder)
  try {
    const content = [{ type: 'text', text: `A message from another process: ${clientKey}` }] as const
    await store.send(sessionId, { clientKey, mode: clientKey.startsWith('steer') ? 'steer' : 'followUp', content })
    openLedger(folder)({ kind: 'ack', of: 'message', clientKey })
  } finally {
    await store.close?.()
  }
}

/** Answers waiting calls from this process. */
export async function answerFromOutside(kind: StoreKind, folder: string): Promise<void> {
  const note = openLedger(folder)
  const store = watchedStore(await openStore(kind, folder), note, {
    root: sessionId,
    writer: 'other',
    onSent: (clientKey) => note({ kind: 'ack', of: 'answer', clientKey }),
  })
  try {
    const session = await loadSession(store, sessionId)
    for (const { callId, name, decision, sessionId: asking } of await session.pendingInTree()) {
      if (decision !== undefined || name === 'spawn') continue
      const its = asking === session.id ? session : await loadSession(store, asking)
      await its.answer(callId, name === 'deploy' ? { decision: 'allow', by: 'other' } : { content: 'Yes.' })
    }
  } finally {
    await store.close?.()
  }
}
