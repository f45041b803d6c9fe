import type { Clock } from '../core/clock.ts'
import type { McpMemory, RememberedEra } from './memory.ts'

/** Which protocol a server spoke the last time. */
export interface KnownEra {
  get(): Promise<RememberedEra | undefined>
  set(era: RememberedEra | undefined): Promise<void>
}

/** Kept in `memory`; one that fails must not cost anybody a server. */
export function createKnownEra(memory: McpMemory, key: string, clock: Clock): KnownEra {
  return {
    async get() {
      const era = (await memory.get(key).catch(() => undefined))?.era
      return era && clock.now() - era.at < longestMemory ? era : undefined
    },
    async set(era) {
      try {
        const { era: _, ...rest } = (await memory.get(key)) ?? {}
        await memory.set(key, { ...rest, ...(era && { era }) })
      } catch {}
    },
  }
}

/** A server may learn the new protocol; who only ever remembered would never find out. */
const longestMemory = 7 * 24 * 3_600_000
