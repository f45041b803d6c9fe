import { createHash, randomUUID } from 'node:crypto'
import * as fs from 'node:fs'
import { rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { failpoint } from '../../core/log.ts'
import type { Fence } from '../../core/store.ts'
import { syncFolder } from '../../platform/files.ts'
import { withWriteErrors } from './file-errors.ts'
import { createFile, makeDurableFolder, makeFolder, namesIn, readJson, readText, replaceFile } from './files.ts'

/** `meta.json`: facts about a session that its folder name does not contain. */
interface SessionMeta {
  readonly id: string
  readonly parent?: string
  /** The random id of this instance: a child that was deleted and created again is not taken for the old one. */
  readonly made: string
  /** The entries that a fork shares: see `BasePart`. They belong to the fork as soon as it has an entry of its own. */
  readonly base?: readonly { readonly file: string; readonly entries: number; readonly bytes: number }[]
}

/** Creates the folder of a session, if it is missing. */
export async function makeSessionFolder(dir: string, id: string): Promise<string> {
  const name = folderNameOf(id)
  const folder = join(dir, name)
  makeFolder(folder)
  if (needsMeta(name)) await ensureMeta(folder, { id, made: randomUUID() })
  return folder
}

/** Creates the folder of a child, and a marker in that of its parent, by which it is found when the parent is deleted. */
export async function makeChildFolder(dir: string, id: string, parent: string): Promise<string> {
  const folder = join(dir, folderNameOf(id))
  await makeDurableFolder(folder)
  const meta = await ensureMeta(folder, { id, parent, made: randomUUID() })
  if (meta.parent !== parent) await replaceFile(metaPath(folder), textOfMeta({ ...meta, parent }))
  const { made: instanceId } = meta
  const children = join(await makeSessionFolder(dir, parent), 'children')
  const marker = join(children, folderNameOf(id))
  if (readText(marker) !== instanceId) {
    await makeDurableFolder(children)
    await replaceFile(marker, instanceId)
    await withWriteErrors(children, () => syncFolder(children))
  }
  return folder
}

/** The stored meta. If there is none, stores `newMeta`; of two processes that do so, the first one wins. */
async function ensureMeta(folder: string, newMeta: SessionMeta): Promise<SessionMeta> {
  const existing = readMeta(folder)
  if (existing) return existing
  await createFile(metaPath(folder), textOfMeta(newMeta))
  await withWriteErrors(folder, () => syncFolder(folder))
  return readMeta(folder) ?? newMeta
}

/** Records which entries a session shares; none if it is no fork. */
export async function writeBase(folder: string, id: string, base: NonNullable<SessionMeta['base']>): Promise<void> {
  const meta = readMeta(folder)
  if (base.length === 0 && !meta?.base) return
  const { base: _, ...others } = meta ?? { id, made: randomUUID() }
  await replaceFile(metaPath(folder), textOfMeta(base.length === 0 ? others : { ...others, base }))
}

const metaPath = (folder: string): string => join(folder, 'meta.json')
const textOfMeta = (meta: SessionMeta): string => `${JSON.stringify(meta)}\n`

export const readMeta = (folder: string): SessionMeta | undefined => readJson<SessionMeta>(metaPath(folder))

/** The session of a folder; undefined if it is not a session. */
export function sessionIn(folder: string, name: string): { id: string; parent?: string } | undefined {
  const meta = readMeta(folder)
  const id = idOfFolder(name) ?? meta?.id
  if (id === undefined || folderNameOf(id) !== name) return undefined
  return meta?.parent === undefined ? { id } : { id, parent: meta.parent }
}

/** The direct children of a session. */
export function childrenOf(dir: string, id: string): string[] {
  return namesIn(join(dir, folderNameOf(id), 'children')).flatMap((name) => {
    const child = readMeta(join(dir, name))
    return child?.parent === id ? [child.id] : []
  })
}

/** A session, its parent and so on, up to the root. */
export function lineageOf(dir: string, id: string): string[] {
  const lineage: string[] = []
  for (let next: string | undefined = id; next !== undefined && !lineage.includes(next); ) {
    lineage.push(next)
    next = readMeta(join(dir, folderNameOf(next)))?.parent
  }
  return lineage
}

/** A child, its parent and so on, excluding the session that holds the lease. */
export function lineageBelowHolder(dir: string, id: string, { holder = id, parent = holder }: Fence): string[] {
  const lineage: string[] = []
  let current = id
  for (let next: string | undefined = parent; current !== holder && !lineage.includes(current); ) {
    lineage.push(current)
    if (next === undefined) break
    current = next
    next = readMeta(join(dir, folderNameOf(current)))?.parent
  }
  return lineage
}

/** Removes temporary files of processes that died while replacing a file. Requires the lock of the folder. */
export function removeTemporaryFiles(folder: string): void {
  // Only files that are written under that lock; others may be in use.
  const leftovers = namesIn(folder).filter((name) => /^(lease\.json|inbox\.jsonl)\..*\.tmp$/.test(name))
  withWriteErrors(folder, () => {
    for (const name of leftovers) fs.rmSync(join(folder, name), { force: true })
  })
}

const trashName = '.deleted'

/** Is told the name of each folder before it is deleted; the function that it returns is called afterwards. */
export type OnDelete = (name: string) => () => void

/**
 * Moves a session out of sight in one step, then deletes it and its children. Its folder lists its children, so that any
 * process can finish an interrupted deletion.
 */
export async function deleteFolder(dir: string, folder: string, onDelete: OnDelete): Promise<void> {
  await withWriteErrors(folder, async () => {
    const trash = join(dir, trashName)
    makeFolder(trash)
    const trashPath = join(trash, randomUUID())
    if (!fs.existsSync(folder)) return
    const deleted = onDelete(basename(folder))
    try {
      fs.renameSync(folder, trashPath)
    } finally {
      deleted()
    }
    failpoint('jsonl.delete.afterRename')
    await syncFolder(dir)
    await removeWithChildren(dir, trashPath, onDelete)
  })
}

/** Finishes deletions that were interrupted by a crash. */
export async function finishDeleting(dir: string, onDelete: OnDelete): Promise<void> {
  const trash = join(dir, trashName)
  for (const name of namesIn(trash))
    await withWriteErrors(trash, () => removeWithChildren(dir, join(trash, name), onDelete))
}

async function removeWithChildren(dir: string, trashPath: string, onDelete: OnDelete): Promise<void> {
  const children = join(trashPath, 'children')
  for (const name of namesIn(children)) {
    const child = join(dir, name)
    const instanceId = readText(join(children, name))
    if (readMeta(child)?.made === instanceId) await deleteFolder(dir, child, onDelete)
  }
  await rm(trashPath, { recursive: true, force: true })
}

/** Common file systems allow 255 bytes, some fewer. */
const maxNameLength = 180
/** Begins a name made from a digest. An encoded byte is two hexadecimal digits, so the encoding never yields `%i`. */
const digestPrefix = '%id-'
/** The folder of the session whose id is the empty text. */
const emptyIdName = '%'
/** Names that Windows reserves. */
const reserved = /^(con|prn|aux|nul|com\d|lpt\d)$/

/**
 * The folder name of a session. Small letters, digits, `-` and `_` stay; every other byte becomes `%` and two digits,
 * capital letters too, for case-insensitive file systems. An id that is too long becomes a digest, and a `meta.json` in the
 * folder names the id.
 */
export function folderNameOf(id: string): string {
  if (id === '') return emptyIdName
  if (!id.isWellFormed()) return digestName(Buffer.from(id, 'utf16le'))
  const bytes = Buffer.from(id)
  let name = ''
  for (const byte of bytes) {
    name += isPlain(byte) ? String.fromCharCode(byte) : percentEncoded(byte)
    if (name.length > maxNameLength) break
  }
  if (name.length > maxNameLength) return digestName(bytes)
  return reserved.test(name) ? percentEncoded(bytes[0] ?? 0) + name.slice(1) : name
}

/** The id of a folder name; undefined if only its `meta.json` contains it. */
export function idOfFolder(name: string): string | undefined {
  if (name === emptyIdName) return ''
  if (name.startsWith(digestPrefix)) return undefined
  try {
    const id = decodeURIComponent(name)
    return folderNameOf(id) === name ? id : undefined
  } catch {
    return undefined
  }
}

/** Whether only `meta.json` contains the id of a folder of that name. */
const needsMeta = (name: string): boolean => name.startsWith(digestPrefix)

const digestName = (bytes: Uint8Array): string => digestPrefix + createHash('sha256').update(bytes).digest('hex')

const percentEncoded = (byte: number): string => `%${byte.toString(16).padStart(2, '0')}`

const isPlain = (byte: number): boolean =>
  (byte >= 0x61 && byte <= 0x7a) || (byte >= 0x30 && byte <= 0x39) || byte === 0x2d || byte === 0x5f
