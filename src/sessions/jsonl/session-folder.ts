import { createHash, randomUUID } from 'node:crypto'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { failpoint } from '../../core/log.ts'
import type { Fence } from '../../core/store.ts'
import { createFile, makeFolder, namesIn, readJson, readText, replaceFile, syncFolder, writing } from './files.ts'

/** `meta.json`: what the folder name does not tell about its session, if anything. */
interface SessionMeta {
  readonly id: string
  readonly parent?: string
  /** Unique, so that a child that was deleted and created again is not taken for the old one. */
  readonly made: string
}

/** Creates the folder of a session, if it is missing. */
export function makeSessionFolder(dir: string, id: string): string {
  const name = folderNameOf(id)
  const folder = join(dir, name)
  makeFolder(folder)
  if (needsMeta(name)) metaOf(folder, { id, made: randomUUID() })
  return folder
}

/** Creates the folder of a child, and a marker in that of its parent, by which it is found when the parent is deleted. */
export function makeChildFolder(dir: string, id: string, parent: string): string {
  const folder = join(dir, folderNameOf(id))
  makeFolder(folder)
  const meta = metaOf(folder, { id, parent, made: randomUUID() })
  if (meta.parent !== parent) replaceFile(metaPath(folder), textOfMeta({ ...meta, parent }))
  const children = join(makeSessionFolder(dir, parent), 'children')
  const marker = join(children, folderNameOf(id))
  if (readText(marker) !== meta.made) {
    makeFolder(children)
    replaceFile(marker, meta.made)
    writing(children, () => syncFolder(children))
  }
  return folder
}

/** The stored meta, or the given one if there was none. Of two concurrent writers the first one wins. */
function metaOf(folder: string, given: SessionMeta): SessionMeta {
  const known = readMeta(folder)
  if (known) return known
  createFile(metaPath(folder), textOfMeta(given))
  writing(folder, () => syncFolder(folder))
  return readMeta(folder) ?? given
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

/** A child, its parent and so on, up to but without the session that holds the lease. */
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
  const left = namesIn(folder).filter((name) => /^(lease\.json|inbox\.jsonl)\..*\.tmp$/.test(name))
  writing(folder, () => {
    for (const name of left) fs.rmSync(join(folder, name), { force: true })
  })
}

const binName = '.deleted'

/**
 * Moves a session out of sight in one step, then deletes it and its children. Its folder lists its children, so that any
 * process can finish an interrupted deletion.
 */
export function deleteFolder(dir: string, folder: string): void {
  writing(folder, () => {
    const bin = join(dir, binName)
    makeFolder(bin)
    const gone = join(bin, randomUUID())
    if (!fs.existsSync(folder)) return
    fs.renameSync(folder, gone)
    failpoint('jsonl.delete.afterRename')
    syncFolder(dir)
    removeWithChildren(dir, gone)
  })
}

/** Finishes deletions that were interrupted by a crash. */
export function finishDeleting(dir: string): void {
  const bin = join(dir, binName)
  for (const name of namesIn(bin)) writing(bin, () => removeWithChildren(dir, join(bin, name)))
}

function removeWithChildren(dir: string, gone: string): void {
  const children = join(gone, 'children')
  for (const name of namesIn(children)) {
    const child = join(dir, name)
    if (readMeta(child)?.made === readText(join(children, name))) deleteFolder(dir, child)
  }
  fs.rmSync(gone, { recursive: true, force: true })
}

/** Common file systems allow 255 bytes, some fewer. */
const longest = 180
/** An encoded byte is two hexadecimal digits, so the encoding never yields `%i`. */
const hashed = '%id-'
const empty = '%'
/** Names that Windows reserves. */
const reserved = /^(con|prn|aux|nul|com\d|lpt\d)$/

/**
 * The folder name of a session. Small letters, digits, `-` and `_` stay; every other byte becomes `%` and two digits,
 * capital letters too, for case-insensitive file systems. An id that is too long becomes a digest, and a `meta.json` in the
 * folder names the id.
 */
export function folderNameOf(id: string): string {
  if (id === '') return empty
  if (!id.isWellFormed()) return digestName(Buffer.from(id, 'utf16le'))
  const bytes = Buffer.from(id)
  let name = ''
  for (const byte of bytes) {
    name += isPlain(byte) ? String.fromCharCode(byte) : encoded(byte)
    if (name.length > longest) break
  }
  if (name.length > longest) return digestName(bytes)
  return reserved.test(name) ? encoded(bytes[0] ?? 0) + name.slice(1) : name
}

/** The id of a folder name; undefined if only its `meta.json` tells it. */
export function idOfFolder(name: string): string | undefined {
  if (name === empty) return ''
  if (name.startsWith(hashed)) return undefined
  try {
    const id = decodeURIComponent(name)
    return folderNameOf(id) === name ? id : undefined
  } catch {
    return undefined
  }
}

/** Whether only `meta.json` tells the id of a folder of that name. */
const needsMeta = (name: string): boolean => name.startsWith(hashed)

const digestName = (bytes: Uint8Array): string => hashed + createHash('sha256').update(bytes).digest('hex')

const encoded = (byte: number): string => `%${byte.toString(16).padStart(2, '0')}`

const isPlain = (byte: number): boolean =>
  (byte >= 0x61 && byte <= 0x7a) || (byte >= 0x30 && byte <= 0x39) || byte === 0x2d || byte === 0x5f
