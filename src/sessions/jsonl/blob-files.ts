import { randomUUID } from 'node:crypto'
import * as fs from 'node:fs/promises'
import { join } from 'node:path'
import { codeOf, StoreError } from '../../core/errors.ts'
import { failpoint } from '../../core/log.ts'
import type { BlobStore } from '../../core/store.ts'
import { digestOf } from '../../platform/digest.ts'
import { syncFolder } from '../../platform/files.ts'
import { sharedBlobsPath } from './base-parts.ts'
import { storeErrorOf } from './file-errors.ts'
import { makeDurableFolder, namesIn, refuseLink } from './files.ts'

/** Blobs as files named by the digest of their content. `requireSession` rejects if there is no such session. */
export function blobFiles(folder: string, requireSession: () => Promise<unknown>): BlobStore {
  const blobs = blobsPath(folder)
  return {
    async put(data) {
      const bytes = new Uint8Array(data)
      await requireSession()
      return putBlob(folder, bytes)
    },

    async get(name) {
      refuseLink(folder)
      return readBlobOf(folder, name)
    },

    names: async () => namesIn(blobs).filter(isBlobName),

    async delete(name) {
      if (!isBlobName(name)) return
      refuseLink(folder)
      refuseLink(blobs)
      await fs.rm(join(blobs, name), { force: true })
    },
  }
}

const blobsPath = (folder: string): string => join(folder, 'blobs')

/** Writes a blob of a session that exists. Resolves with its name. */
export async function putBlob(folder: string, bytes: Uint8Array): Promise<string> {
  const name = digestOf(bytes)
  const blobs = blobsPath(folder)
  const path = join(blobs, name)
  await makeDurableFolder(blobs)
  try {
    if (!(await isStored(path, name))) await writeNew(path, bytes)
    await syncFolder(blobs) // also for an existing one: its writer may have died before this
  } catch (cause) {
    throw storeErrorOf(cause, path, 'write')
  }
  return name
}

/** A blob of a session, or one that it shares with the session it was forked from. */
export async function readBlobOf(folder: string, name: string): Promise<Uint8Array<ArrayBuffer> | undefined> {
  if (!isBlobName(name)) return undefined
  return (await readBlob(blobsPath(folder), name)) ?? readBlob(sharedBlobsPath(folder), name)
}

async function readBlob(blobs: string, name: string): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const path = join(blobs, name)
  refuseLink(blobs)
  refuseLink(path)
  try {
    const bytes = new Uint8Array(await fs.readFile(path))
    if (digestOf(bytes) === name) return bytes
    throw new StoreError('corrupt', `${path} is not what was put; restore it from a backup`)
  } catch (cause) {
    if (codeOf(cause) === 'ENOENT') return undefined
    throw storeErrorOf(cause, path, 'read')
  }
}

const isBlobName = (name: string): boolean => /^[0-9a-f]{64}$/.test(name)

/** Whether an intact file exists; a damaged one is written again. */
async function isStored(path: string, name: string): Promise<boolean> {
  const info = await fs.lstat(path).catch(() => undefined)
  return info?.isFile() === true && digestOf(new Uint8Array(await fs.readFile(path))) === name
}

async function writeNew(path: string, bytes: Uint8Array): Promise<void> {
  const temporary = `${path}.${randomUUID()}.tmp`
  try {
    const file = await fs.open(temporary, 'wx', 0o600)
    try {
      await file.writeFile(bytes)
      await file.sync()
    } finally {
      await file.close()
    }
    failpoint('jsonl.blob.beforeRename')
    await fs.rename(temporary, path)
  } catch (error) {
    await fs.rm(temporary, { force: true }).catch(() => {})
    throw error
  }
}
