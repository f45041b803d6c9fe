import { StoreError } from '../../core/errors.ts'
import { fromBase64, sha256Hex, toBase64 } from '../bytes.ts'
import type { SpilledBlob } from '../spill.ts'
import { blobPath } from './adapter-files.ts'
import type { CachedSession, SessionFiles } from './session-files.ts'
import { checkWritable } from './session-meta.ts'

/** Saves blobs as base64 texts. The meta names a blob before it is saved, so that it is deleted with the session. */
export async function saveBlobs(
  sessionFiles: SessionFiles,
  session: CachedSession,
  blobs: readonly SpilledBlob[],
): Promise<void> {
  const { id, blobs: known } = session.meta
  const added = blobs.map(({ name }) => name).filter((name) => !known.includes(name))
  if (added.length > 0) await sessionFiles.change(session, { blobs: [...known, ...added] })
  for (const { name, bytes } of blobs) await sessionFiles.adapter.save(blobPath(id, name), toBase64(bytes))
}

/** A blob of a session, or of the session that it shares entries with. */
export async function getBlob(
  sessionFiles: SessionFiles,
  session: CachedSession,
  name: string,
): Promise<Uint8Array | undefined> {
  const { id, base, blobs, keptBlobs = [] } = session.meta
  const path = blobPath(id, name)
  const isNamed = blobs.includes(name) || keptBlobs.includes(name)
  const text = isNamed ? await sessionFiles.adapter.get(path) : undefined
  if (text === undefined) return base && getSharedBlob(sessionFiles, session, base.id, name)
  const bytes = fromBase64(text)
  if (!bytes) throw new StoreError('corrupt', `"${path}" is not valid base64; restore it from a backup`)
  if ((await sha256Hex(bytes)) === name) return bytes
  throw new StoreError('corrupt', `"${path}" is not what was put; restore it from a backup`)
}

async function getSharedBlob(
  sessionFiles: SessionFiles,
  fork: CachedSession,
  base: string,
  name: string,
): Promise<Uint8Array | undefined> {
  const bytes = await getBlob(sessionFiles, await sessionFiles.of(base), name)
  if (bytes || fork.meta.base) return bytes
  return getBlob(sessionFiles, fork, name) // its base was deleted meanwhile, so it has a copy
}

export async function deleteBlob(sessionFiles: SessionFiles, session: CachedSession, name: string): Promise<void> {
  const { id, blobs, keptBlobs = [] } = session.meta
  if (!blobs.includes(name)) return
  checkWritable(session.meta)
  if (!keptBlobs.includes(name)) await sessionFiles.adapter.delete(blobPath(id, name))
  await sessionFiles.change(session, { blobs: blobs.filter((blob) => blob !== name) })
}

/** Copies the blobs that a fork shares into its own folder. */
export async function keepBlobs(sessionFiles: SessionFiles, session: CachedSession): Promise<void> {
  const { id } = session.meta
  const places = new Map<string, string>() // the path of each blob
  for (let { base } = session.meta; base; ) {
    const { meta } = await sessionFiles.of(base.id)
    for (const name of [...meta.blobs, ...(meta.keptBlobs ?? [])])
      if (!places.has(name)) places.set(name, blobPath(meta.id, name))
    base = meta.base
  }
  if (places.size === 0) return
  await sessionFiles.change(session, { keptBlobs: [...new Set([...(session.meta.keptBlobs ?? []), ...places.keys()])] })
  for (const [name, path] of places) {
    const text = await sessionFiles.adapter.get(path)
    if (text !== undefined) await sessionFiles.adapter.save(blobPath(id, name), text)
  }
}
