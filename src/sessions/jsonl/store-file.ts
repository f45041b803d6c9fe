import { randomUUID } from 'node:crypto'
import * as fs from 'node:fs'
import { rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { StoreError } from '../../core/errors.ts'
import { failpoint } from '../../core/log.ts'
import { syncFolder } from '../../platform/files.ts'
import { networkFileSystemOf, type ReadMountTable } from '../../platform/network-fs.ts'
import { withWriteErrors } from './file-errors.ts'
import { createFile, parseObject, readText, replaceFile } from './files.ts'
import { withFolderLock } from './folder-lock.ts'
import { isHeld, readLease } from './lease-file.ts'
import { folderNamesIn } from './session-list.ts'

/**
 * The format of everything in the folder. A higher number in `store.json` means: read, do not write. Since format 2 forks
 * share entries.
 */
const format = 2

interface StoreFile {
  readonly format: number
  readonly identity: string
}

/** Makes the folder a store, migrates an older one, and refuses to write to one of a newer version. Returns its identity. */
export async function ensureStore(dir: string): Promise<string> {
  const path = join(dir, 'store.json')
  const storeFile = readStoreFile(path) ?? (await makeStoreFile(dir, path))
  if (storeFile.format < format) await migrateStore(dir, () => replaceFile(path, textOf({ ...storeFile, format })))
  if (storeFile.format > format)
    throw new StoreError(
      'newer',
      `${path} has format ${storeFile.format}, this version writes ${format}: sessions can be read, not written; update libero`,
    )
  return storeFile.identity
}

/** The identity of an existing store, of any format or of the current one. */
export function identityOf(dir: string, which: 'any' | 'current' = 'any'): string | undefined {
  const storeFile = readStoreFile(join(dir, 'store.json'))
  return which === 'any' || storeFile?.format === format ? storeFile?.identity : undefined
}

function readStoreFile(path: string): StoreFile | undefined {
  const text = readText(path)
  if (text === undefined) return undefined
  const storeFile = parseObject<StoreFile>(text)
  if (typeof storeFile?.format === 'number' && typeof storeFile.identity === 'string') return storeFile
  throw new StoreError('corrupt', `${path} does not contain { format, identity }; restore it from a backup`)
}

const textOf = (storeFile: StoreFile): string => `${JSON.stringify(storeFile)}\n`

/** If several processes open a new store, one of them sets the identity. */
async function makeStoreFile(dir: string, path: string): Promise<StoreFile> {
  const first = withWriteErrors(dir, () => fs.mkdirSync(dir, { recursive: true, mode: 0o700 }))
  await withWriteErrors(dir, () => syncAbove(dir, first))
  await createFile(path, textOf({ format, identity: randomUUID() }))
  await withWriteErrors(dir, () => syncFolder(dir))
  return readStoreFile(path) ?? makeStoreFile(dir, path)
}

/** Makes new folders durable by syncing their parents; `first` is the highest new folder. */
async function syncAbove(dir: string, first: string | undefined): Promise<void> {
  for (let folder = dir; first !== undefined && folder.startsWith(first); ) {
    folder = dirname(folder)
    await syncFolder(folder)
  }
}

/** Checks before the first write that the folder is local and writable. */
export function checkFolder(dir: string, { allowNetworkFileSystem = false, readMountTable }: FolderOptions): void {
  const network = networkFileSystemOf(dir, readMountTable)
  if (network !== undefined && !allowNetworkFileSystem)
    throw new StoreError(
      'network_fs',
      `${dir} lies on a network file system (${network}), where two writers cannot be kept apart; ` +
        'use a folder on a local disk, or pass allowNetworkFileSystem if only one process will ever write there',
    )
  if (!fs.existsSync(dir)) return
  withWriteErrors(dir, () => fs.accessSync(dir, fs.constants.W_OK | fs.constants.X_OK))
}

interface FolderOptions {
  readonly allowNetworkFileSystem?: boolean
  readonly readMountTable?: ReadMountTable
}

/** Restricts the folder to this user, if it has wider permissions. */
export function restrictToOwner(dir: string): void {
  for (const [path, mode] of [
    [dir, 0o700],
    [join(dir, 'store.json'), 0o600],
  ] as const) {
    const open = fs.statSync(path).mode & 0o077
    if (open === 0 || process.platform === 'win32') continue
    try {
      fs.chmodSync(path, mode)
    } catch (cause) {
      throw new StoreError(
        'unavailable',
        `${path} can be read by others (mode ${open.toString(8)}) and this cannot be changed; use a folder of your own`,
        { cause },
      )
    }
  }
}

/**
 * Migrates a store of format 1: only the number in `store.json` changes, by `finish`, because sessions of format 1 are
 * sessions of format 2 without shared entries. What matters is that no process of the older version writes any more: it
 * would not tell others which sessions it changes.
 */
async function migrateStore(dir: string, finish: () => Promise<void>): Promise<void> {
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
