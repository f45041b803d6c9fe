import type { Clock } from '../core/clock.ts'
import { isRecord } from '../core/is-record.ts'
import { digestOfJson } from '../platform/canonical-json.ts'
import type { McpServerConfig } from './config.ts'
import type { McpDefinition } from './definitions/read-definitions.ts'
import type { SeenDefinition } from './server-tools.ts'
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

/**
 * What is known about servers, in a JSON file that processes share. A file that cannot be read counts as empty, and is
 * not written; what cannot be written is forgotten: neither keeps anybody from a server.
 */
export function createFileMcpMemory(path: string): McpMemory {
  return {
    async get(key) {
      const all = await read(path)
      return all && Object.hasOwn(all, key) ? remembered(all[key]) : undefined
    },
    async set(key, server) {
      const [{ withLock }, { writeFileAtomic }] = await Promise.all([
        import('../platform/lock.ts'),
        import('../platform/files.ts'),
      ])
      const work = async (): Promise<void> => {
        const all = await read(path)
        if (!all || JSON.stringify(all[key]) === JSON.stringify(server)) return
        const { [key]: _, ...others } = all
        const kept = Object.fromEntries([...Object.entries(others).slice(1 - mostServers), [key, server]])
        await writeFileAtomic(path, `${JSON.stringify(kept, null, 2)}\n`)
      }
      await withLock(`${path}.lock`, work).catch(() => {})
    },
  }
}

/** The one that was written longest ago goes first. */
const mostServers = 500
const mostBytes = 16 * 1024 * 1024

async function read(path: string): Promise<Record<string, unknown> | undefined> {
  const { readSmallText } = await import('../platform/read-small-text.ts')
  try {
    const refuse = (code: string): Error => new Error(code)
    const text = await readSmallText(path, { mostBytes, links: 'followed', refuse })
    const value: unknown = JSON.parse(text ?? '{}')
    return isRecord(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** What another version, or somebody by hand, has written may be anything. */
function remembered(value: unknown): RememberedServer | undefined {
  if (!isRecord(value)) return undefined
  const { era, tools } = value
  return { ...(isEra(era) && { era }), ...(areDigests(tools) && { tools }) }
}

const isEra = (value: unknown): value is RememberedEra =>
  isRecord(value) && (value.kind === 'modern' || value.kind === 'legacy') && Number.isFinite(value.at)

const areDigests = (value: unknown): value is Record<string, string> =>
  isRecord(value) && Object.values(value).every((digest) => typeof digest === 'string')

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

/** Which definitions of a server are known: seen first, or accepted by somebody since. */
export interface KnownTools {
  /** Tells those that changed from the others. New ones count as known from now on. */
  compare(definitions: readonly McpDefinition[]): Promise<readonly SeenDefinition[]>
  /** Somebody looked at it and let it be called. */
  accept(definition: McpDefinition): Promise<void>
}

/** Kept in `memory`, so that a server cannot be one thing today and another tomorrow. */
export function createKnownTools(memory: McpMemory, key: string): KnownTools {
  // What a memory cannot keep, or has lost, holds as long as this connection all the same.
  const ours = new Map<string, string>()

  async function digests(): Promise<Map<string, string>> {
    const { tools = {} } = (await memory.get(key).catch(() => undefined)) ?? {}
    return new Map([...ours, ...Object.entries(tools)])
  }

  async function save(known: ReadonlyMap<string, string>): Promise<void> {
    for (const [tool, digest] of known) ours.set(tool, digest)
    try {
      await memory.set(key, { ...(await memory.get(key)), tools: Object.fromEntries(known) })
    } catch {
      // a full disk must not cost anybody a server
    }
  }

  return {
    async compare(definitions) {
      const known = await digests()
      const fresh = definitions.filter(({ tool }) => !known.has(tool))
      for (const { tool, digest } of fresh) known.set(tool, digest)
      if (fresh.length > 0) await save(known)
      return definitions.map((definition) => ({
        definition,
        isChanged: known.get(definition.tool) !== definition.digest,
      }))
    },
    async accept({ tool, digest }) {
      await save((await digests()).set(tool, digest))
    },
  }
}

/** Names a server by what it is, so that nothing remembered about one holds for another that took its name. */
export function serverKey({ name, transport, command, args, cwd, url }: McpServerConfig): string {
  return `${name}:${digestOfJson({ transport, command, args, cwd, url })}`
}
