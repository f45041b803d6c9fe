import { randomUUID } from 'node:crypto'
import * as fs from 'node:fs/promises'
import { join } from 'node:path'
import { failpoint } from '../../core/failpoint.ts'
import type { BlobStore } from '../../core/store.ts'
import { digestOf } from '../../platform/digest.ts'
import { codeOf } from '../../platform/files.ts'
import { faultOf } from './file-faults.ts'
import { makeFolder, refuseLink, syncFolder } from './small-files.ts'

/** Blobs as files that are named for their content. `makeSession` makes the folder of the session where it is missing. */
export function blobFiles(folder: string, makeSession: () => void): BlobStore {
  const blobs = join(folder, 'blobs')
  return {
    async put(given) {
      const bytes = new Uint8Array(given)
      const name = digestOf(bytes)
      const path = join(blobs, name)
      makeSession()
      makeFolder(blobs)
      try {
        const there = await fs.stat(path).catch(() => undefined)
        if (there?.size === bytes.length) return name
        await writeNew(path, bytes)
        syncFolder(blobs)
      } catch (cause) {
        throw faultOf(cause, path, 'write')
      }
      return name
    },

    async get(name) {
      if (!/^[0-9a-f]{64}$/.test(name)) return undefined
      const path = join(blobs, name)
      refuseLink(folder)
      refuseLink(blobs)
      refuseLink(path)
      try {
        return new Uint8Array(await fs.readFile(path))
      } catch (cause) {
        if (codeOf(cause) === 'ENOENT') return undefined
        throw faultOf(cause, path, 'read')
      }
    },
  }
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
