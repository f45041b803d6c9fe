import { isRecord } from '../core/is-record.ts'
import type { McpMemory, RememberedEra, RememberedServer } from './memory.ts'

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
