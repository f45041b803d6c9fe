import { deepFreeze } from '../../core/turn.ts'
import type { McpCredential } from './credential.ts'

/** Stores logins to MCP servers. Returned credentials are never changed in place. */
export interface McpCredentialStore {
  get(key: string): Promise<McpCredential | undefined>
  /** Atomic: a reader sees the old or the new credential. */
  set(key: string, credential: McpCredential): Promise<void>
  /** Returns whether there was one. */
  delete(key: string): Promise<boolean>
  list(): Promise<readonly McpCredential[]>
  /**
   * Runs `work` under a lock on the key, across all processes that use the store. Tokens are renewed only under the lock,
   * because using a refresh token twice ends the login.
   */
  exclusively<T>(key: string, work: () => Promise<T>): Promise<T>
}

/** A store that ends with the process. */
export function createMemoryMcpCredentialStore(): McpCredentialStore {
  const credentials = new Map<string, McpCredential>()
  const queues = new Map<string, Promise<unknown>>()
  return {
    get: async (key) => credentials.get(key),
    set: async (key, credential) => void credentials.set(key, deepFreeze(structuredClone(credential))),
    delete: async (key) => credentials.delete(key),
    list: async () => [...credentials.values()],
    exclusively(key, work) {
      const turn = (queues.get(key) ?? Promise.resolve()).then(work, work)
      queues.set(key, turn)
      return turn
    },
  }
}
