import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { messageOf } from '../../core/errors.ts'
import { shellWord } from '../../core/execution.ts'
import { networkFileSystemOf } from '../../platform/network-fs.ts'
import { isFolderStore, openStore, sessionsPath } from '../sessions/open-store.ts'
import { broken, type Check, ok } from './check.ts'

/** Whether sessions can be kept: a store of the same kind is made there, written, read and removed; theirs is only opened. */
export const sessionStore: Check = {
  name: 'sessions',
  isEssential: true,
  async look({ io, config }) {
    const path = sessionsPath(await config, io)
    const network = networkFileSystemOf(dirname(path))
    if (network !== undefined)
      return broken(
        `${path} lies on a network file system (${network})`,
        'libero config set sessions <a path on a local disk>',
      )
    try {
      await tryToWrite(path)
      if (!existsSync(path))
        return ok(
          `${path} is made with the first session; ${isFolderStore(path) ? 'text files work' : 'SQLite works'} there`,
        )
      const store = await openStore(path)
      const kept = await store.list().finally(() => store.close?.())
      return ok(`${path}, ${kept.length} ${kept.length === 1 ? 'session' : 'sessions'}`)
    } catch (error) {
      return broken(messageOf(error), `see ls -ld ${shellWord(dirname(path))}, or: libero config set sessions <path>`)
    }
  },
}

/** The folder stays: to make one that vanishes again would trip whoever looks at it meanwhile. */
async function tryToWrite(path: string): Promise<void> {
  const isFolder = isFolderStore(path)
  const folder = isFolder ? path : dirname(path)
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const trial = join(folder, isFolder ? `.doctor-${randomUUID()}/` : `doctor-${randomUUID()}.db`)
  try {
    const store = await openStore(trial)
    try {
      const { epoch } = await store.lease('trial', { owner: 'doctor', ttlMs: 60_000 })
      const entry = { type: 'label', seq: 1, id: 'trial', at: 0, text: 'trial' } as const
      await store.append('trial', [entry], { epoch, head: 0 })
      if ((await store.read('trial')).length !== 1) throw new Error(`${trial} was written, and is empty`)
    } finally {
      await store.close?.()
    }
  } finally {
    for (const end of ['', '-wal', '-shm', '-journal']) await rm(`${trial}${end}`, { recursive: true, force: true })
  }
}
