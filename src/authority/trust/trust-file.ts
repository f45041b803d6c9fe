import { constants, type Stats } from 'node:fs'
import { lstat, mkdir, open } from 'node:fs/promises'
import { join } from 'node:path'
import { CodedError } from '../../core/coded-error.ts'
import { messageOf } from '../../core/errors.ts'
import { codeOf, writeFileAtomic } from '../../platform/files.ts'
import { withLock } from '../../platform/lock.ts'
import type { TrustEntry } from './trust-list.ts'

/** The file behind a trust list. One that others could have written, or that makes no sense, is neither used nor changed. */
export interface TrustFile {
  readonly path: string
  /** Oldest first. */
  read(): Promise<readonly TrustEntry[]>
  /** Reads, edits and replaces the file while no other process does. An edit without new `entries` leaves it as it is. */
  change<T>(edit: (entries: readonly TrustEntry[]) => Edit<T>): Promise<T>
}

interface Edit<T> {
  readonly result: T
  readonly entries?: readonly TrustEntry[]
}

/** The file `trust.json` in a folder, which is made when something is first written. */
export function createTrustFile(folder: string): TrustFile {
  const path = join(folder, 'trust.json')
  async function read(): Promise<readonly TrustEntry[]> {
    const text = await readOwn(folder, path)
    return text === undefined ? [] : entriesIn(text, path)
  }
  return {
    path,
    read,
    async change(edit) {
      if (!(await checkFolder(folder))) await mkdir(folder, { recursive: true, mode: 0o700 })
      return withLock(`${path}.lock`, async () => {
        const { result, entries } = edit(await read())
        if (entries) await writeFileAtomic(path, `${JSON.stringify({ entries }, null, 2)}\n`)
        return result
      })
    },
  }
}

const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants
const mostBytes = 16 * 1024 * 1024

async function readOwn(folder: string, path: string): Promise<string | undefined> {
  if (!(await checkFolder(folder))) return undefined
  const file = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK).catch((cause) => {
    if (codeOf(cause) === 'ENOENT') return undefined
    const what = codeOf(cause) === 'ELOOP' ? 'is a link' : `cannot be opened (${messageOf(cause)})`
    return unusable(path, what, 'put a file of your own there, or delete it and decide about your projects again')
  })
  if (!file) return undefined
  try {
    const info = await file.stat()
    if (!info.isFile()) unusable(path, 'is not a file', 'move it away')
    checkOwner(path, info)
    // It is written with 0600: if more is open, somebody else opened it.
    if (hasModes && info.mode & 0o077) unusable(path, `is open to others (mode ${modeOf(info)})`, `chmod 600 ${path}`)
    if (info.size > mostBytes) unusable(path, `has ${info.size} bytes, more than a trust list can have`, 'look at it')
    return await file.readFile('utf8')
  } finally {
    await file.close()
  }
}

/** Whether there is a folder; one that others can write to cannot hold what we rely on. */
async function checkFolder(folder: string): Promise<boolean> {
  const info = await lstat(folder).catch((cause) => {
    if (codeOf(cause) === 'ENOENT') return undefined
    return unusable(folder, `cannot be looked at (${messageOf(cause)})`, 'check its permissions')
  })
  if (!info) return false
  if (!info.isDirectory())
    unusable(folder, info.isSymbolicLink() ? 'is a link' : 'is not a folder', 'use a real folder')
  checkOwner(folder, info)
  if (hasModes && info.mode & 0o022)
    unusable(folder, `can be written by others (mode ${modeOf(info)})`, `chmod 700 ${folder}`)
  return true
}

const hasModes = process.platform !== 'win32'

function checkOwner(path: string, { uid }: Stats): void {
  const own = process.getuid?.()
  if (own !== undefined && uid !== own)
    unusable(path, `belongs to user ${uid}, not to user ${own}`, 'use a folder of your own')
}

function modeOf({ mode }: Stats): string {
  return (mode & 0o777).toString(8)
}

function entriesIn(text: string, path: string): readonly TrustEntry[] {
  let entries: unknown
  try {
    entries = JSON.parse(text)?.entries
  } catch (cause) {
    unusable(path, `is not JSON (${messageOf(cause)})`, repair)
  }
  if (!Array.isArray(entries)) unusable(path, 'has no list of entries', repair)
  const bad = entries.findIndex((entry) => !isEntry(entry))
  if (bad >= 0) unusable(path, `has an entry that this version does not know (number ${bad + 1})`, repair)
  return entries
}

const repair = 'correct it by hand, or delete it and decide about your projects again'

function isEntry(value: unknown): value is TrustEntry {
  if (!isRecord(value)) return false
  const { canonicalPath, device, inode, decision, grantedAt, schemaVersion, note, items } = value
  return (
    [canonicalPath, device, inode, grantedAt].every((field) => typeof field === 'string') &&
    (decision === 'trusted' || decision === 'declined') &&
    schemaVersion === 1 &&
    (note === undefined || typeof note === 'string') &&
    (items === undefined || (isRecord(items) && Object.values(items).every((digest) => typeof digest === 'string')))
  )
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function unusable(path: string, what: string, next: string): never {
  throw new CodedError('Validation/TrustListUnusable', `${path} ${what}, so no project is trusted; ${next}`)
}
