import { createServer, type Server, type Socket, connect as toServer } from 'node:net'

/**
 * Where a connection is cut: before the statement reaches the server, right after it was sent there, or after the server
 * has done it, before its answer reaches the client.
 */
export type Cut = 'before' | 'during' | 'after'

/** Stands between a client and a Postgres server, understands what the client asks for, and cuts connections. */
export interface PostgresProxy {
  readonly port: number
  /** How often a client began to speak after the server had: its round trips. */
  readonly trips: number
  /** How many statements clients executed. */
  readonly statements: number
  /** How many of them contain a text. */
  executionsOf(text: string): number
  /** How many connections were cut on purpose. */
  readonly cuts: number
  /** Cuts at the `n`-th execution from now on of a statement that contains `text`. */
  cut(text: string, n: number, where: Cut): void
  /** From now on connections are closed as soon as they are made, without a word; or not any more. */
  refuse(isRefusing: boolean): void
  close(): Promise<void>
}

/** `port`: that of a proxy that was closed, which is there again; default a free one. */
export async function startProxy(serverPort: number, port = 0): Promise<PostgresProxy> {
  const sockets = new Set<Socket>()
  let planned: { text: string; left: number; where: Cut } | undefined
  let trips = 0
  const executions = new Map<string, number>()
  let cuts = 0
  let isRefusing = false

  function executionsOf(text: string): number {
    let sum = 0
    for (const [statement, count] of executions) if (statement.includes(text)) sum += count
    return sum
  }

  /** Whether one of these statements is the one to cut at. */
  function isDue(executed: readonly string[]): boolean {
    for (const statement of executed)
      if (planned && statement.includes(planned.text) && --planned.left === 0) return true
    return false
  }

  const listener: Server = createServer((client) => {
    if (isRefusing) {
      client.on('error', () => {})
      client.resume().end()
      return
    }
    const server = toServer(serverPort, '127.0.0.1')
    const statementsIn = createReader()
    let speaker: 'client' | 'server' = 'server'
    let isMute = false
    const end = (): void => {
      client.destroy()
      server.destroy()
    }
    const cutOff = (): void => {
      cuts++
      end()
    }
    for (const socket of [client, server]) {
      socket.setNoDelay(true)
      sockets.add(socket)
      socket.on('error', end)
      socket.on('close', () => {
        sockets.delete(socket)
        end()
      })
    }
    client.on('data', (bytes) => {
      if (speaker === 'server') trips++
      speaker = 'client'
      const executed = statementsIn(bytes)
      for (const statement of executed) executions.set(statement, (executions.get(statement) ?? 0) + 1)
      const where = isDue(executed) ? planned?.where : undefined
      if (where !== undefined) planned = undefined
      if (where === 'before') return cutOff()
      server.write(bytes, () => {
        if (where === 'during') cutOff()
      })
      if (where === 'after') isMute = true
    })
    server.on('data', (bytes) => {
      speaker = 'server'
      if (isMute) cutOff()
      else client.write(bytes)
    })
  })
  await new Promise<void>((resolve) => listener.listen(port, '127.0.0.1', resolve))
  const address = listener.address()

  return {
    port: typeof address === 'object' && address ? address.port : 0,
    get trips() {
      return trips
    },
    get statements() {
      return executionsOf('')
    },
    executionsOf,
    get cuts() {
      return cuts
    },
    cut(text, n, where) {
      planned = { text, left: n, where }
    },
    refuse(now) {
      isRefusing = now
    },
    async close() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => listener.close(resolve))
    },
  }
}

/** Reads what a client sends, and gives the text of each statement that is executed in it. */
function createReader(): (bytes: Uint8Array) => string[] {
  const texts = new Map<string, string>()
  let rest = Buffer.alloc(0)
  let hasStarted = false
  let bound = ''
  return (bytes) => {
    const executed: string[] = []
    rest = Buffer.concat([rest, bytes])
    for (;;) {
      const begin = hasStarted ? 1 : 0 // the first message has no letter in front
      if (rest.length < begin + 4) return executed
      const size = begin + rest.readUInt32BE(begin)
      if (rest.length < size) return executed
      const letter = hasStarted ? String.fromCharCode(rest[0] ?? 0) : ''
      const [first = '', second = ''] = rest.toString('latin1', begin + 4, size).split('\0')
      if (letter === 'P') texts.set(first, second)
      if (letter === 'B') bound = texts.get(second) ?? ''
      if (letter === 'E') executed.push(bound)
      if (letter === 'Q') executed.push(first)
      hasStarted = true
      rest = rest.subarray(size)
    }
  }
}
