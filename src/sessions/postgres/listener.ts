import { openDriver, type PostgresSql } from './driver.ts'

/** Receives the notifications of some channels. A notification may be lost; polling then finds the change. */
export interface Listener {
  /** Connects, unless it is connected. Calling it again connects again after the connection was lost. */
  start(): void
  stop(): void
  close(): Promise<void>
}

export interface ListenerOptions {
  readonly channels: readonly string[]
  readonly url: string
  readonly sql?: PostgresSql | undefined
  /** Called with each notification. */
  readonly onNotice: (channel: string, payload: string) => void
  /** Called when notifications may have been missed: after a connection was made or lost. */
  readonly onGap: () => void
}

interface Connection {
  close(): Promise<unknown>
}

/** Listens with one connection. */
export function createListener({ channels, url, sql, onNotice, onGap }: ListenerOptions): Listener {
  let connecting: Promise<Connection> | undefined
  let ending: Promise<unknown> | undefined
  let isClosed = false

  function start(): void {
    if (connecting || isClosed) return
    const forget = (): void => {
      if (connecting === thisConnection) connecting = undefined
    }
    let wasConnected = false
    const lost = (): void => {
      forget()
      // If the connection was never made, the next poll tries again. Polling at once would ask a server without free connections
      // again and again.
      if (wasConnected) onGap()
    }
    const thisConnection = sql
      ? listenOnGivenClient(sql, channels, onNotice)
      : listenOnOwnClient(url, channels, onNotice, lost)
    connecting = thisConnection
    thisConnection.then(() => {
      wasConnected = true
      onGap()
    }, forget)
  }

  function stop(): void {
    ending = Promise.all([ending, connecting?.then((open) => open.close())]).catch(() => {})
    connecting = undefined
  }

  return {
    start,
    stop,
    async close() {
      isClosed = true
      stop()
      await ending
    },
  }
}

async function listenOnOwnClient(
  url: string,
  channels: readonly string[],
  onNotice: ListenerOptions['onNotice'],
  lost: () => void,
): Promise<Connection> {
  const client = await openDriver(url, { max: 1, onnotify: onNotice, onclose: lost })
  const close = (): Promise<void> => client.end({ timeout: 1 })
  try {
    await client.unsafe(channels.map((channel) => `listen "${channel}"`).join('; '))
  } catch (error) {
    await close()
    throw error
  }
  return { close }
}

/** The driver opens its own connection to listen, and opens it again when it is lost. After a failure, another attempt would not help. */
async function listenOnGivenClient(
  sql: PostgresSql,
  channels: readonly string[],
  onNotice: ListenerOptions['onNotice'],
): Promise<Connection> {
  try {
    const listening = await Promise.all(
      channels.map((channel) => sql.listen(channel, (payload) => onNotice(channel, payload))),
    )
    return { close: () => Promise.all(listening.map(({ unlisten }) => unlisten())) }
  } catch {
    return { close: async () => {} }
  }
}
