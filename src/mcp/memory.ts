/** What is worth keeping about servers from one process to the next. */
export interface McpMemory {
  /** `key` names a server by what it is, see `serverKey`. */
  get(key: string): Promise<RememberedServer | undefined>
  set(key: string, server: RememberedServer): Promise<void>
}

export interface RememberedServer {
  readonly era?: RememberedEra
  /** The definitions that were seen first or accepted since: digests by the server's own names. */
  readonly tools?: Readonly<Record<string, string>>
}

/** Which of the two protocols a server speaks, so that it is not probed again. */
export interface RememberedEra {
  readonly kind: 'modern' | 'legacy'
  readonly discover?: unknown
  /** When that was found out. */
  readonly at: number
}

/** For as long as the process lives. */
export function createMemoryMcpMemory(): McpMemory {
  const servers = new Map<string, RememberedServer>()
  return {
    get: async (key) => servers.get(key),
    set: async (key, server) => void servers.set(key, server),
  }
}
