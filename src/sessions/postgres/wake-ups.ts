import { openDriver, type PostgresSql } from './driver.ts'

/** Tells who watches a session that something changed in it. Only a hint: what was not heard is found by looking. */
export interface WakeUps {
  on(session: string, listener: () => void): () => void
  /** Opens the line again if it broke. */
  check(): void
  close(): Promise<void>
}

interface Line {
  close(): Promise<unknown>
}

/** One connection that listens for all watchers, from the first to the last of them. */
export function createWakeUps(channel: string, { url, sql }: { url: string; sql?: PostgresSql }): WakeUps {
  const listeners = new Map<string, Set<() => void>>()
  let line: Promise<Line> | undefined
  let ending: Promise<unknown> | undefined
  let isClosed = false

  function ring(session?: string): void {
    const rung = session === undefined ? [...listeners.values()] : [listeners.get(session) ?? []]
    for (const some of rung) for (const listener of [...some]) listener()
  }

  function check(): void {
    if (line || isClosed || listeners.size === 0) return
    const forget = (): void => {
      if (line === mine) line = undefined
    }
    let hasStood = false
    const lost = (): void => {
      forget()
      // One that never stood is tried again when somebody looks by himself. Ringing would make him look at once, and so
      // ask a server that has no connection left for one again and again.
      if (hasStood) ring()
    }
    const mine = sql ? borrowedLine(sql, channel, ring) : ownLine(url, channel, ring, lost)
    line = mine
    mine.then(() => {
      hasStood = true
      ring() // what changed before it stood was not heard
    }, forget)
  }

  function hangUp(): void {
    ending = Promise.all([ending, line?.then((open) => open.close())]).catch(() => {})
    line = undefined
  }

  return {
    on(session, listener) {
      const some = listeners.get(session) ?? new Set()
      listeners.set(session, some.add(listener))
      check()
      return () => {
        some.delete(listener)
        if (some.size === 0 && listeners.get(session) === some) listeners.delete(session)
        if (listeners.size === 0) hangUp()
      }
    },
    check,
    async close() {
      isClosed = true
      listeners.clear()
      hangUp()
      await ending
    },
  }
}

async function ownLine(
  url: string,
  channel: string,
  heard: (session: string) => void,
  lost: () => void,
): Promise<Line> {
  const client = await openDriver(url, { max: 1, onnotify: (_, session) => heard(session), onclose: lost })
  const close = (): Promise<void> => client.end({ timeout: 1 })
  try {
    await client.unsafe(`listen "${channel}"`)
  } catch (error) {
    await close()
    throw error
  }
  return { close }
}

/** The driver keeps a connection of its own for this, and renews it. Once it failed, asking again would not help. */
async function borrowedLine(sql: PostgresSql, channel: string, heard: (session: string) => void): Promise<Line> {
  try {
    const { unlisten } = await sql.listen(channel, heard)
    return { close: unlisten }
  } catch {
    return { close: async () => {} }
  }
}
