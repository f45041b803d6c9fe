import { isRecord } from '../core/is-record.ts'
import type { McpMemory, RememberedServer } from './memory.ts'

/** What is known about servers, in a JSON file that processes share. A file that cannot be read counts as empty, and is not written. */
export function createFileMcpMemory(path: string): McpMemory {
  return {
    async get(key) {
      const found = (await read(path))?.[key]
      return isRecord(found) ? (found as RememberedServer) : undefined
    },
    async set(key, server) {
      const [{ withLock }, { writeFileAtomic }] = await Promise.all([
        import('../platform/lock.ts'),
        import('../platform/files.ts'),
      ])
      await withLock(`${path}.lock`, async () => {
        const all = await read(path)
        if (!all || JSON.stringify(all[key]) === JSON.stringify(server)) return
        await writeFileAtomic(path, `${JSON.stringify({ ...all, [key]: server }, null, 2)}\n`)
      })
    },
  }
}

async function read(path: string): Promise<Record<string, unknown> | undefined> {
  const { readTextIfThere } = await import('../platform/files.ts')
  try {
    const value: unknown = JSON.parse((await readTextIfThere(path)) ?? '{}')
    return isRecord(value) ? value : undefined
  } catch {
    return undefined
  }
}
