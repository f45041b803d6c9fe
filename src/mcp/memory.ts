import type { Clock } from '../core/clock.ts'
import { isRecord } from '../core/is-record.ts'
import { digestOfJson } from '../platform/canonical-json.ts'
import type { McpServerConfig } from './config.ts'
import type { McpDefinition, SeenDefinition } from './definitions/read-definitions.ts'

/** Stores facts about servers from one process to the next. */
export interface McpMemory {
  /** `key` identifies a server, see `serverKey`. */
  get(key: string): Promise<RememberedServer | undefined>
  set(key: string, server: RememberedServer): Promise<void>
}

export interface RememberedServer {
  readonly era?: RememberedEra
  /** Digests of the known definitions (first seen, or accepted since), by the server's own tool names. */
  readonly tools?: Readonly<Record<string, string>>
}

/** Which of the two protocols a server speaks, so that it is not probed again. */
export interface RememberedEra {
  readonly kind: 'modern' | 'legacy'
  readonly discover?: unknown
  /** When it was negotiated. */
  readonly at: number
}

/** Identifies a server by its name and how it is reached: another server with the same name has another key. */
export function serverKey({ name, transport, command, args, cwd, url }: McpServerConfig): string {
  return `${name}:${digestOfJson({ transport, command, args, cwd, url })}`
}

/** A memory that ends with the process. */
export function createMemoryMcpMemory(): McpMemory {
  const servers = new Map<string, RememberedServer>()
  return {
    get: async (key) => servers.get(key),
    set: async (key, server) => void servers.set(key, server),
  }
}

/**
 * A memory in a JSON file that processes share. A file that cannot be read counts as empty and is not overwritten; a
 * failure to write is ignored. Neither prevents a connection.
 */
export function createFileMcpMemory(path: string): McpMemory {
  return {
    async get(key) {
      const all = await readAll(path)
      return all && Object.hasOwn(all, key) ? rememberedServer(all[key]) : undefined
    },
    async set(key, server) {
      const [{ withLock }, { writeFileAtomic }] = await Promise.all([
        import('../platform/lock.ts'),
        import('../platform/files.ts'),
      ])
      const work = async (): Promise<void> => {
        const all = await readAll(path)
        if (!all || JSON.stringify(all[key]) === JSON.stringify(server)) return
        const { [key]: _, ...others } = all
        const kept = Object.fromEntries([...Object.entries(others).slice(1 - mostServers), [key, server]])
        await writeFileAtomic(path, `${JSON.stringify(kept, null, 2)}\n`)
      }
      await withLock(`${path}.lock`, work).catch(() => {})
    },
  }
}

/** The entry that was written longest ago is dropped first. */
const mostServers = 500
const mostBytes = 16 * 1024 * 1024

async function readAll(path: string): Promise<Record<string, unknown> | undefined> {
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

/** Another version, or a person, may have written anything. */
function rememberedServer(value: unknown): RememberedServer | undefined {
  if (!isRecord(value)) return undefined
  const { era, tools } = value
  return { ...(isEra(era) && { era }), ...(areDigests(tools) && { tools }) }
}

const isEra = (value: unknown): value is RememberedEra =>
  isRecord(value) && (value.kind === 'modern' || value.kind === 'legacy') && Number.isFinite(value.at)

const areDigests = (value: unknown): value is Record<string, string> =>
  isRecord(value) && Object.values(value).every((digest) => typeof digest === 'string')

/** The protocol era of one server. A memory that fails counts as empty. */
export interface KnownEra {
  get(): Promise<RememberedEra | undefined>
  set(era: RememberedEra | undefined): Promise<void>
}

export function createKnownEra(memory: McpMemory, key: string, clock: Clock): KnownEra {
  return {
    async get() {
      const era = (await memory.get(key).catch(() => undefined))?.era
      return era && clock.now() - era.at < longestEraMs ? era : undefined
    },
    async set(era) {
      try {
        const { era: _, ...rest } = (await memory.get(key)) ?? {}
        await memory.set(key, { ...rest, ...(era && { era }) })
      } catch {}
    },
  }
}

/** After a week a server is probed again: it may have learned the new protocol. */
const longestEraMs = 7 * 24 * 3_600_000

/** The known tool definitions of one server: first seen, or accepted by a person since. */
export interface KnownTools {
  /** Marks the definitions that changed. New ones become known. */
  compare(definitions: readonly McpDefinition[]): Promise<readonly SeenDefinition[]>
  /** A person allowed a call of the tool with this definition. */
  accept(definition: McpDefinition): Promise<void>
}

export function createKnownTools(memory: McpMemory, key: string): KnownTools {
  // Kept here too, for a memory that fails or loses entries.
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
      // such as a full disk
    }
  }

  return {
    async compare(definitions) {
      const known = await digests()
      const added = definitions.filter(({ tool }) => !known.has(tool))
      for (const { tool, digest } of added) known.set(tool, digest)
      if (added.length > 0) await save(known)
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
