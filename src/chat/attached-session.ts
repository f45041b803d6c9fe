import { systemClock } from '../core/clock.ts'
import { SessionNotFoundError } from '../core/errors.ts'
import { parsePrompt } from '../core/run-options.ts'
import type { SessionStore } from '../core/store.ts'
import { readEvents } from '../events/read-events.ts'
import { emptyView, foldEntries, foldOnwards, type SessionView } from '../view/session-view.ts'
import type { ChatHost, QueuedDraft } from './chat.ts'
import { readEnd, type SessionEnd } from './session-end.ts'

/** A session that another process runs: it is read as that process writes it, and reached through its inbox. */
export interface AttachedSession extends SessionEnd {
  readonly id: string
  /** The process died during the run that the view shows. */
  readonly isDead: boolean
  readAll(): Promise<SessionView>
  /** Resolves once the message is stored; the run delivers it. */
  send(message: QueuedDraft, mode: 'steer' | 'followUp'): Promise<void>
  stop(): Promise<void>
  close(): Promise<void>
}

interface AttachOptions extends Pick<ChatHost, 'joinRuns' | 'clock'> {
  /** The view has changed. */
  onChange(): void
  /** The process died during a run. */
  onDeath(): void
  onError(error: unknown): void
}

/** Follows a session of the store. */
export async function attachSession(store: SessionStore, id: string, options: AttachOptions): Promise<AttachedSession> {
  const { joinRuns, clock = systemClock, onChange, onDeath, onError } = options
  const summary = await store.find(id)
  if (!summary) throw new SessionNotFoundError(id)
  const start = await readEnd(store, id, summary.head)
  const stop = new AbortController()
  let { view } = start
  let deadAt: number | undefined
  let cancelTimer: (() => void) | undefined

  /** A process that dies writes nothing, so while it works on the session the lease is looked at. */
  function watchLife(): void {
    if (cancelTimer || !view.run || stop.signal.aborted) return
    cancelTimer = clock.timer(lifeMs, async () => {
      cancelTimer = undefined
      const head = view.head
      const isHeld = (await store.find(id).catch(() => undefined))?.isHeld
      if (stop.signal.aborted || !view.run) return
      if (isHeld || view.head !== head) return watchLife()
      deadAt = head
      onDeath()
    })
  }

  async function follow(): Promise<void> {
    const events = readEvents(store, id, {
      after: view.head,
      signal: stop.signal,
      ...(joinRuns && { join: joinRuns }),
    })
    for await (const event of events) {
      view = foldOnwards(view, event)
      onChange()
      watchLife()
    }
  }

  const following = follow().catch((error) => {
    if (!stop.signal.aborted) onError(error)
  })
  watchLife()
  return {
    id,
    earlierTurns: start.earlierTurns,
    get view() {
      return view
    },
    get isDead() {
      return deadAt === view.head
    },
    readAll: async () => foldEntries(emptyView, await store.read(id)),
    send: ({ id: clientKey, text, parts }, mode) =>
      store.send(id, { mode, clientKey, content: parsePrompt(parts ?? text) ?? [] }),
    stop: () => store.send(id, { mode: 'stop', clientKey: `stop/${view.run?.id ?? crypto.randomUUID()}`, content: [] }),
    async close() {
      stop.abort()
      cancelTimer?.()
      await following
    },
  }
}

const lifeMs = 2000
