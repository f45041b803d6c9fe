import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { StoreError } from '../../core/errors.ts'
import { failpoint } from '../../core/log.ts'
import { withFolderLock } from './folder-lock.ts'
import { isHeld, readLease } from './lease-file.ts'
import { folderNamesIn } from './session-list.ts'

/**
 * Migrates a store of format 1: only the number in `store.json` changes, by `finish`, because sessions of format 1 are
 * sessions of format 2 without shared entries. What matters is that no process of the older version writes any more: it
 * would not tell others which sessions it changes.
 */
export async function migrateStore(dir: string, finish: () => Promise<void>): Promise<void> {
  const lock = join(dir, '.migration')
  await withFolderLock(lock, async () => {
    for await (const name of folderNamesIn(dir)) {
      const lease = readLease(join(dir, name))
      if (lease && isHeld(lease, Date.now()))
        throw new StoreError(
          'busy',
          `${lease.owner || 'A process'} of an older version of libero (process ${lease.process?.pid ?? 'unknown'}) writes to ` +
            `${join(dir, name)}; end it, so that the store can be migrated`,
        )
    }
    failpoint('jsonl.migrate.beforeRename')
    await finish()
    failpoint('jsonl.migrate.afterRename')
  })
  rmSync(lock, { recursive: true, force: true })
}
