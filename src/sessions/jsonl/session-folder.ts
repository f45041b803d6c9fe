import { randomUUID } from 'node:crypto'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { failpoint } from '../../core/log.ts'
import type { Fence } from '../../core/store.ts'
import { changing } from './file-faults.ts'
import { folderNameOf, idOfFolder, needsMeta } from './folder-names.ts'
import { createFile, jsonOf, makeFolder, namesIn, replaceFile, syncFolder, textOf } from './small-files.ts'

/** What the name of a folder does not say about its session: `meta.json`, where it is needed. */
export interface SessionMeta {
  readonly id: string
  readonly parent?: string
  /** One of a kind, so that a child that was deleted and made anew is not taken for the old one. */
  readonly made: string
}

/** Makes the folder of a session. */
export function makeSessionFolder(dir: string, id: string): string {
  const name = folderNameOf(id)
  const folder = join(dir, name)
  makeFolder(folder)
  if (needsMeta(name)) metaOf(folder, { id, made: randomUUID() })
  return folder
}

/** Makes the folder of a child, and has that of its parent name it, so that it is found when the parent goes. */
export function makeChildFolder(dir: string, id: string, parent: string): string {
  const folder = join(dir, folderNameOf(id))
  makeFolder(folder)
  const meta = metaOf(folder, { id, parent, made: randomUUID() })
  if (meta.parent !== parent) replaceFile(metaPath(folder), textOfMeta({ ...meta, parent }))
  const children = join(makeSessionFolder(dir, parent), 'children')
  const marker = join(children, folderNameOf(id))
  if (textOf(marker) !== meta.made) {
    makeFolder(children)
    replaceFile(marker, meta.made)
    changing(children, () => syncFolder(children))
  }
  return folder
}

/** What is known about a session already, else what is given: of two who say it first one is heard. */
function metaOf(folder: string, given: SessionMeta): SessionMeta {
  const known = readMeta(folder)
  if (known) return known
  createFile(metaPath(folder), textOfMeta(given))
  changing(folder, () => syncFolder(folder))
  return readMeta(folder) ?? given
}

const metaPath = (folder: string): string => join(folder, 'meta.json')
const textOfMeta = (meta: SessionMeta): string => `${JSON.stringify(meta)}\n`

export const readMeta = (folder: string): SessionMeta | undefined => jsonOf<SessionMeta>(metaPath(folder))

/** The session of a folder; undefined where there is none that can be told. */
export function sessionIn(folder: string, name: string): { id: string; parent?: string } | undefined {
  const meta = readMeta(folder)
  const id = idOfFolder(name) ?? meta?.id
  if (id === undefined || folderNameOf(id) !== name) return undefined
  return meta?.parent === undefined ? { id } : { id, parent: meta.parent }
}

/** The children of a session, children of children not among them. */
export function childrenOf(dir: string, id: string): string[] {
  return namesIn(join(dir, folderNameOf(id), 'children')).flatMap((name) => {
    const child = readMeta(join(dir, name))
    return child?.parent === id ? [child.id] : []
  })
}

/** A child, the child above it, and so on, up to but without the session that holds the lease. */
export function lineOf(dir: string, id: string, { holder = id, parent = holder }: Fence): string[] {
  const line: string[] = []
  let one = id
  for (let above: string | undefined = parent; one !== holder && !line.includes(one); ) {
    line.push(one)
    if (above === undefined) break
    one = above
    above = readMeta(join(dir, folderNameOf(one)))?.parent
  }
  return line
}

/** Clears away what processes left that died while they replaced a file. Under the lock of the folder. */
export function sweep(folder: string): void {
  // Only what is written under that lock: the others may be in the middle of it.
  const left = namesIn(folder).filter((name) => /^(lease\.json|inbox\.jsonl)\..*\.tmp$/.test(name))
  changing(folder, () => {
    for (const name of left) fs.rmSync(join(folder, name), { force: true })
  })
}

const binName = '.deleted'

/**
 * Moves a session out of sight in one step, then does away with it and its children. Its children are named in its
 * folder, so one that was cut off in the middle can be finished by anybody.
 */
export function deleteFolder(dir: string, folder: string): void {
  changing(folder, () => {
    const bin = join(dir, binName)
    makeFolder(bin)
    const gone = join(bin, randomUUID())
    if (!fs.existsSync(folder)) return
    fs.renameSync(folder, gone)
    failpoint('jsonl.delete.afterRename')
    syncFolder(dir)
    empty(dir, gone)
  })
}

/** Finishes what was being deleted when a process died. */
export function finishDeleting(dir: string): void {
  const bin = join(dir, binName)
  for (const name of namesIn(bin)) changing(bin, () => empty(dir, join(bin, name)))
}

function empty(dir: string, gone: string): void {
  const children = join(gone, 'children')
  for (const name of namesIn(children)) {
    const child = join(dir, name)
    if (readMeta(child)?.made === textOf(join(children, name))) deleteFolder(dir, child)
  }
  fs.rmSync(gone, { recursive: true, force: true })
}
