import type { Extension, Run } from '../core/run.ts'
import type { SessionStore } from '../core/store.ts'

/** The runs under way in this process that readers may join, and the readers that wait for one. */
const sessions = new WeakMap<SessionStore, Map<string, LiveSession>>()

/** The same runs by their id, for readers in other processes. */
const runs = new Map<string, Run>()
const runListeners = new Set<(processId: string) => void>()

interface LiveSession {
  run?: Run
  readonly listeners: Set<(run: Run | undefined) => void>
}

/** Lets readers in this process join the runs of an agent. Costs nothing while there are none. */
export function publishRuns(): Extension {
  return {
    name: 'events',
    start(run, hooks) {
      const { session } = run
      if (!session?.store) return
      const live = liveSession(session.store, session.id)
      const change = (now: Run | undefined): void => {
        if (now) live.run = now
        else delete live.run
        for (const listener of live.listeners) listener(now)
      }
      change(run)
      runs.set(run.id, run)
      if (session.processId !== undefined) for (const listener of runListeners) listener(session.processId)
      hooks.hook('session:end', () => {
        change(undefined)
        runs.delete(run.id)
        forgetIfUnused(session.store!, session.id)
      })
    },
  }
}

/** Calls `listener` with the run under way in a session, then whenever one begins or ends. Returns a function that stops it. */
export function followRuns(
  store: SessionStore,
  sessionId: string,
  listener: (run: Run | undefined) => void,
): () => void {
  const { run, listeners } = liveSession(store, sessionId)
  listeners.add(listener)
  if (run) listener(run)
  return () => {
    listeners.delete(listener)
    forgetIfUnused(store, sessionId)
  }
}

/** A run under way in this process, in a session. */
export const liveRun = (runId: string): Run | undefined => runs.get(runId)

/** Calls `listener` with the id of this process in logs if a run is under way, and whenever one begins. Returns a function that stops it. */
export function onRun(listener: (processId: string) => void): () => void {
  runListeners.add(listener)
  for (const { session } of runs.values()) if (session?.processId !== undefined) listener(session.processId)
  return () => void runListeners.delete(listener)
}

function liveSession(store: SessionStore, sessionId: string): LiveSession {
  const ofStore = sessions.get(store) ?? new Map<string, LiveSession>()
  sessions.set(store, ofStore)
  const live = ofStore.get(sessionId) ?? { listeners: new Set() }
  ofStore.set(sessionId, live)
  return live
}

function forgetIfUnused(store: SessionStore, sessionId: string): void {
  const live = sessions.get(store)?.get(sessionId)
  if (live && !live.run && live.listeners.size === 0) sessions.get(store)?.delete(sessionId)
}
