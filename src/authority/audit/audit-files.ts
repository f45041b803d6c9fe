import { randomUUID } from 'node:crypto'
import { readdir, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { Clock } from '../../core/clock.ts'
import {
  type ChainEnd,
  chainStart,
  endOf,
  integrity,
  type KnownEnd,
  type RecordFields,
  syncFolder,
} from './audit-chain.ts'

interface AuditFilesOptions {
  /** A file if it ends in `.jsonl`, otherwise a folder. */
  readonly path: string
  readonly clock: Clock
  readonly maxFileBytes: number
  readonly keepDays: number | undefined
  readonly keepBytes: number | undefined
}

/** The file to append to. */
interface AuditFile {
  readonly path: string
  readonly known: KnownEnd | undefined
  readonly start: () => Promise<ChainEnd>
  /** Records about files that are removed now, or that were found to be gone. */
  readonly notes: readonly RecordFields[]
  /** Files to be removed once the notes are written. */
  readonly removed: readonly string[]
}

/** The event of a record about files that were removed for their age or size. */
export const prunedEvent = 'AuditPruned'

/**
 * The files of one audit. A file that is full is continued in a new one, whose first record names the hash of the last one.
 * A path to a file keeps its name, and the full file is renamed; in a folder there is also a new file each day.
 */
export class AuditFiles {
  readonly #options: AuditFilesOptions
  readonly #isFolder: boolean
  /** In a folder: what the names of this process have in common, the day of the present file, and its number. */
  readonly #id = `${process.pid}-${randomUUID().slice(0, 8)}`
  #day = ''
  #part = 0
  /** In a folder: the end of the file before the present one. */
  #before = chainStart
  /** The end of the present file when it was last written. */
  #known: KnownEnd | undefined
  #isOpen = false

  constructor(options: AuditFilesOptions) {
    this.#options = options
    this.#isFolder = !options.path.endsWith('.jsonl')
  }

  /** The present file. */
  get path(): string {
    const { path } = this.#options
    if (!this.#isFolder || this.#day === '') return path
    return join(path, `${this.#day}-${this.#id}${this.#part > 1 ? `.${this.#part}` : ''}.jsonl`)
  }

  /** The file for the next records: a new one if the present one is full or of another day. */
  async next(): Promise<AuditFile> {
    const isFirst = !this.#isOpen
    const day = dayOf(this.#options.clock.now())
    const isFull = this.#known !== undefined && this.#known.size >= this.#options.maxFileBytes
    const isNew = isFirst || isFull || (this.#isFolder && day !== this.#day)
    const notes = isNew ? await this.#begin(day) : []
    this.#isOpen = true
    const removed = isNew ? await this.#tooOld({ isFirst }) : []
    return {
      path: this.path,
      known: this.#known,
      start: async () => (this.#isFolder ? this.#before : lastRotatedEnd(this.path)),
      notes: [...notes, ...(await prunedNotes(removed))],
      removed,
    }
  }

  /** Records were appended to the present file. */
  wrote(end: KnownEnd): void {
    this.#known = end
  }

  /** Begins a new file; gives the record about the file before, if that is gone. */
  async #begin(day: string): Promise<readonly RecordFields[]> {
    const before = this.path
    const known = this.#known
    this.#known = undefined
    this.#day = day
    this.#part++
    if (!known) return []
    if (!this.#isFolder) {
      await rotate(before, known)
      return []
    }
    const isThere = await stat(before).then(
      () => true,
      () => false,
    )
    this.#before = isThere ? { seq: known.seq, hash: known.hash } : chainStart
    return isThere ? [] : [integrity('AuditCut', { lastSeq: known.seq, lastHash: known.hash })]
  }

  /**
   * The files that are too old or exceed the size limit, without the present one. In a folder the first process of a day
   * looks for them, and one that begins another file.
   */
  async #tooOld({ isFirst }: { readonly isFirst: boolean }): Promise<readonly string[]> {
    const { clock, keepDays = Number.POSITIVE_INFINITY, keepBytes = Number.POSITIVE_INFINITY } = this.#options
    if (keepDays === Number.POSITIVE_INFINITY && keepBytes === Number.POSITIVE_INFINITY) return []
    const folder = dirname(this.path)
    const names = this.#isFolder ? await namesByDay(folder) : await rotatedFilesOf(this.path)
    if (this.#isFolder && isFirst && names.some((name) => name.startsWith(this.#day))) return []
    const oldest = clock.now() - keepDays * dayMs
    const removed: string[] = []
    let bytes = 0
    for (const name of names.toReversed()) {
      const path = join(folder, name)
      const info = path === this.path ? undefined : await stat(path).catch(() => undefined)
      if (!info) continue
      bytes += info.size
      const isOld = this.#isFolder ? name < dayOf(oldest) : info.mtimeMs < oldest
      if (isOld || bytes > keepBytes) removed.push(path)
    }
    return removed
  }
}

/** Renames a full file, unless another sink has done so. */
async function rotate(path: string, { inode, device }: KnownEnd): Promise<void> {
  const info = await stat(path).catch(() => undefined)
  const end = info?.ino === inode && info.dev === device ? await endOf(path) : undefined
  if (!end) return
  await rename(path, rotatedName(path, end.seq))
  await syncFolder(dirname(path))
}

/** Removes files. One that cannot be removed is tried again the next time. */
export async function removeFiles(paths: readonly string[]): Promise<void> {
  for (const path of paths) await rm(path, { force: true }).catch(() => {})
}

const dayMs = 86_400_000

/** The day with which the names of files in a folder begin. */
const dayOf = (at: number): string => {
  const time = new Date(at)
  return Number.isNaN(time.getTime()) ? '' : time.toISOString().slice(0, 10)
}

/** The oldest first. */
async function namesByDay(folder: string): Promise<readonly string[]> {
  const names = await readdir(folder).catch(() => [])
  return names.filter((name) => /^\d{4}-\d\d-\d\d-/.test(name)).sort()
}

/** `audit.jsonl` becomes `audit.000000004711.jsonl`, by its last record. */
const rotatedName = (path: string, seq: number): string =>
  path.replace(/\.jsonl$/, `.${String(seq).padStart(12, '0')}.jsonl`)

/** The names of the files that the file at a path was rotated into, the oldest first. */
export async function rotatedFilesOf(path: string): Promise<readonly string[]> {
  const stem = basename(path, '.jsonl')
  const names = await readdir(dirname(path)).catch(() => [])
  const isRotated = (name: string): boolean =>
    name.startsWith(`${stem}.`) && /^\d{12}\.jsonl$/.test(name.slice(stem.length + 1))
  return names.filter(isRotated).sort()
}

async function lastRotatedEnd(path: string): Promise<ChainEnd> {
  const last = (await rotatedFilesOf(path)).at(-1)
  return (last !== undefined && (await endOf(join(dirname(path), last)))) || chainStart
}

/** Files named in one record. */
const mostNamed = 200

async function prunedNotes(paths: readonly string[]): Promise<readonly RecordFields[]> {
  const files: object[] = []
  for (const path of paths) {
    const end = path.endsWith('.jsonl') ? await endOf(path).catch(() => undefined) : undefined
    files.push({ name: basename(path), ...(end && { lastSeq: end.seq, lastHash: end.hash }) })
  }
  return Array.from({ length: Math.ceil(files.length / mostNamed) }, (_, i) =>
    integrity(prunedEvent, { files: files.slice(i * mostNamed, (i + 1) * mostNamed) }),
  )
}
