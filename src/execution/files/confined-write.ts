import { randomUUID } from 'node:crypto'
import {
  accessSync,
  type BigIntStats,
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  fsync,
  linkSync,
  lstatSync,
  mkdir,
  open,
  openSync,
  readFileSync,
  readlinkSync,
  rename,
  renameSync,
  unlinkSync,
  writeFile,
} from 'node:fs'
import { basename, dirname, isAbsolute, join } from 'node:path'
import { promisify } from 'node:util'
import { codeOf } from '../../core/errors.ts'
import type { WriteFileOptions } from '../../core/execution.ts'
import type { Held, Hold } from './confined-hold.ts'
import { fileError } from './confined-path.ts'
import type { Roots } from './confined-roots.ts'
import { refuseUnlessRegular, stampOf } from './regular-file.ts'

export interface WriteSetting {
  readonly hold: Hold
  readonly roots: Roots
}

/**
 * Replaces a file in one step, or makes it, with the folders it needs. A link stays, and what it leads to is replaced. Other
 * names of the file (hard links) keep the old content. Set-id bits, ACLs and extended attributes are not carried over.
 */
export async function replaceFile(
  setting: WriteSetting,
  asked: string,
  content: string | Uint8Array,
  { ifStamp }: WriteFileOptions,
): Promise<void> {
  const { folder, name } = await targetOf(setting, asked)
  const target = folder.at(name)
  const temporary = folder.at(`.${randomUUID()}.tmp`)
  const check = (): void => setting.roots.check(join(folder.whereNow(), name), asked)
  try {
    const before = entryOf(target)
    if (before) refuseUnlessRegular(before, asked)
    // Renaming over it would succeed where writing to it is forbidden.
    if (before) accessSync(target, constants.W_OK)
    checkStamp(before, ifStamp, asked)
    try {
      await writeNew(temporary, content, before)
      check()
      await (ifStamp === undefined ? renameTo(temporary, target) : placeIf(ifStamp, temporary, target, asked))
    } catch (error) {
      discard(temporary)
      throw error
    }
    check()
    await sync(folder)
  } finally {
    folder.close()
  }
}

interface Target {
  readonly folder: Held
  readonly name: string
}

const openFd = promisify(open)
const syncFd = promisify(fsync)
const writeFd = promisify(writeFile)
const renameTo = promisify(rename)
const makeDirectory = promisify(mkdir)

/** As many links as Linux follows. */
const mostLinks = 40

/** The folder and name where a write ends up, after all links, also those that lead to nothing yet. */
async function targetOf(setting: WriteSetting, asked: string): Promise<Target> {
  let path = asked
  for (let links = 0; links <= mostLinks; links++) {
    const name = basename(path)
    // A link may end in `..`.
    if (['', '.', '..'].includes(name)) throw fileError('EISDIR', `"${asked}" is a folder, not a file`, asked)
    const folder = await folderOf(setting, dirname(path), asked)
    try {
      const link = linkIn(folder, name)
      if (link === undefined) {
        setting.roots.check(join(folder.path, name), asked)
        return { folder, name }
      }
      // Not normalised: a `..` behind a link is for the system to resolve.
      path = isAbsolute(link) ? link : `${folder.path}/${link}`
    } catch (error) {
      folder.close()
      throw error
    }
    folder.close()
  }
  throw fileError('ELOOP', `"${asked}" is a link that leads round in a circle`, asked)
}

function entryOf(path: string): BigIntStats | undefined {
  return lstatSync(path, { bigint: true, throwIfNoEntry: false })
}

function linkIn(folder: Held, name: string): string | undefined {
  const path = folder.at(name)
  return entryOf(path)?.isSymbolicLink() ? readlinkSync(path) : undefined
}

/** The folder at a path. What is missing is made step by step, each in the one that is held, so that no link can divert it. */
async function folderOf({ hold, roots }: WriteSetting, path: string, asked: string): Promise<Held> {
  const missing: string[] = []
  let folder = await nearestFolder(hold, path, missing)
  if (missing.length === 0) return folder
  try {
    if (missing.includes('..')) throw fileError('ENOENT', `"${asked}" leads through a folder that is not there`, asked)
    roots.check(join(folder.path, ...missing), asked)
    for (const name of missing) {
      const next = await makeFolder(hold, folder.at(name))
      folder.close()
      folder = next
    }
    return folder
  } catch (error) {
    folder.close()
    throw error
  }
}

/** The deepest folder that is there; `missing` gets the names below it. */
async function nearestFolder(hold: Hold, path: string, missing: string[]): Promise<Held> {
  for (let at = path; ; at = dirname(at)) {
    try {
      return await hold(at, { folder: true })
    } catch (error) {
      if (codeOf(error) !== 'ENOENT' || dirname(at) === at) throw error
      missing.unshift(basename(at))
    }
  }
}

async function makeFolder(hold: Hold, path: string): Promise<Held> {
  try {
    await makeDirectory(path)
  } catch (error) {
    // Somebody else made it meanwhile.
    if (codeOf(error) !== 'EEXIST') throw error
  }
  return hold(path, { folder: true, follow: false })
}

/** Nobody else may look into it until it is complete. */
async function writeNew(path: string, content: string | Uint8Array, before: BigIntStats | undefined): Promise<void> {
  const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW = 0 } = constants
  const fd = await openFd(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600)
  try {
    await writeFd(fd, content)
    if (before) giveTo(fd, before)
    fchmodSync(fd, before ? Number(before.mode) & 0o777 : 0o666 & ~umask())
    await syncFd(fd)
  } finally {
    closeSync(fd)
  }
}

/** The owner of the old file stays the owner where we may do that, or else its group. */
function giveTo(fd: number, { uid, gid }: BigIntStats): void {
  for (const owner of [Number(uid), -1]) {
    try {
      fchownSync(fd, owner, Number(gid))
      return
    } catch {
      // not ours to give
    }
  }
}

/** Asking Node sets it to 0 for a moment, in which another thread may make a file that everybody can write to. */
function umask(): number {
  try {
    const line = /^Umask:\s*([0-7]+)$/m.exec(readFileSync('/proc/self/status', 'latin1'))
    if (line) return Number.parseInt(line[1]!, 8)
  } catch {
    // only Linux has that
  }
  return process.umask()
}

/** From the look to the rename nothing else of this process runs. */
function placeIf(ifStamp: string | null, temporary: string, target: string, asked: string): void {
  checkStamp(entryOf(target), ifStamp, asked)
  if (ifStamp === null && linkNew(temporary, target, asked)) return
  renameSync(temporary, target)
}

/** Unlike a rename it replaces nothing, whoever comes in between. False where the file system cannot do it. */
function linkNew(temporary: string, target: string, asked: string): boolean {
  try {
    linkSync(temporary, target)
  } catch (error) {
    if (codeOf(error) === 'EEXIST') throw existsAlready(asked)
    return false
  }
  discard(temporary)
  return true
}

function checkStamp(present: BigIntStats | undefined, ifStamp: string | null | undefined, asked: string): void {
  if (ifStamp === undefined) return
  if (ifStamp === null && present) throw existsAlready(asked)
  if (ifStamp === null || (present && stampOf(present) === ifStamp)) return
  const what = present ? 'was changed' : 'was removed'
  throw fileError('ESTALE', `"${asked}" ${what} since it was looked at, and was left as it is; look again`, asked)
}

function existsAlready(asked: string): Error {
  return fileError('ESTALE', `"${asked}" exists already, and was left as it is; look at it first`, asked)
}

function discard(temporary: string): void {
  try {
    unlinkSync(temporary)
  } catch {
    // it was never made
  }
}

/** A rename is on the disk only when its folder is. Not every system can do that, nor every folder be opened for it. */
async function sync(folder: Held): Promise<void> {
  let fd: number | undefined
  try {
    fd = openSync(folder.at(), constants.O_RDONLY)
    await syncFd(fd)
  } catch (error) {
    if (codeOf(error) === 'EIO') throw error
  } finally {
    if (fd !== undefined) closeSync(fd)
  }
}
