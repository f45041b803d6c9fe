import { deepFreeze } from '../../core/turn.ts'
import type { McpCredential } from './credential.ts'

/** Keeps logins to MCP servers. What it gives is never changed in place. */
export interface McpCredentialStore {
  get(key: string): Promise<McpCredential | undefined>
  /** All or nothing: whoever reads sees the old one or the new one. */
  set(key: string, credential: McpCredential): Promise<void>
  /** Whether there was one. */
  delete(key: string): Promise<boolean>
  list(): Promise<readonly McpCredential[]>
  /**
   * Runs `work` while nobody else who uses this store, in any process, runs work for the same key. A refresh token that
   * is used twice ends the login, so tokens are renewed only in here.
   */
  exclusively<T>(key: string, work: () => Promise<T>): Promise<T>
}

/** Logins for as long as the process lives. */
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
