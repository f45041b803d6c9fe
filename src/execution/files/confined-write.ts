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
import type { HeldFile, Hold } from './confined-hold.ts'
import { fileError, type Roots, refuseUnlessRegular, stampOf } from './confined-path.ts'

interface WriteSetting {
  readonly hold: Hold
  readonly roots: Roots
}

/**
 * Creates or replaces a file in one step, with missing folders. A link stays, and its target is replaced. Other hard links of
 * the file keep the old content. Set-id bits, ACLs and extended attributes are not preserved.
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
  const check = (): void => setting.roots.check(join(folder.currentPath(), name), asked)
  try {
    const before = entryOf(target)
    if (before) refuseUnlessRegular(before, asked)
    // A rename would succeed even if writing is forbidden.
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
  readonly folder: HeldFile
  readonly name: string
}

const openFd = promisify(open)
const syncFd = promisify(fsync)
const writeFd = promisify(writeFile)
const renameTo = promisify(rename)
const makeDirectory = promisify(mkdir)

/** The limit of Linux. */
const mostLinks = 40

/** The real folder and name of a write, after all links, also dangling ones. */
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
      // Not normalised: the system resolves `..` after a link.
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

function linkIn(folder: HeldFile, name: string): string | undefined {
  const path = folder.at(name)
  return entryOf(path)?.isSymbolicLink() ? readlinkSync(path) : undefined
}

/** The folder at a path. Missing folders are created one by one, each in the held parent, so that no link can divert them. */
async function folderOf({ hold, roots }: WriteSetting, path: string, asked: string): Promise<HeldFile> {
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

/** The deepest existing folder; adds the names below it to `missing`. */
async function nearestFolder(hold: Hold, path: string, missing: string[]): Promise<HeldFile> {
  for (let at = path; ; at = dirname(at)) {
    try {
      return await hold(at, { folder: true })
    } catch (error) {
      if (codeOf(error) !== 'ENOENT' || dirname(at) === at) throw error
      missing.unshift(basename(at))
    }
  }
}

async function makeFolder(hold: Hold, path: string): Promise<HeldFile> {
  try {
    await makeDirectory(path)
  } catch (error) {
    // Another process created it meanwhile.
    if (codeOf(error) !== 'EEXIST') throw error
  }
  return hold(path, { folder: true, follow: false })
}

/** Readable only by this user until it is complete. */
async function writeNew(path: string, content: string | Uint8Array, before: BigIntStats | undefined): Promise<void> {
  const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW = 0 } = constants
  const fd = await openFd(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600)
  try {
    await writeFd(fd, content)
    if (before) keepOwner(fd, before)
    fchmodSync(fd, before ? Number(before.mode) & 0o777 : 0o666 & ~umask())
    await syncFd(fd)
  } finally {
    closeSync(fd)
  }
}

/** Keeps the owner and group of the old file if permitted, or else its group. */
function keepOwner(fd: number, { uid, gid }: BigIntStats): void {
  for (const owner of [Number(uid), -1]) {
    try {
      fchownSync(fd, owner, Number(gid))
      return
    } catch {
      // not permitted
    }
  }
}

/** Node's `process.umask()` sets it to 0 for a moment, in which another thread could create a world-writable file. */
function umask(): number {
  try {
    const line = /^Umask:\s*([0-7]+)$/m.exec(readFileSync('/proc/self/status', 'latin1'))
    if (line) return Number.parseInt(line[1]!, 8)
  } catch {
    // only on Linux
  }
  return process.umask()
}

/** Synchronous, so that nothing else of this process runs between the check and the rename. */
function placeIf(ifStamp: string | null, temporary: string, target: string, asked: string): void {
  checkStamp(entryOf(target), ifStamp, asked)
  if (ifStamp === null && linkNew(temporary, target, asked)) return
  renameSync(temporary, target)
}

/** Unlike a rename, a link never replaces a file. False if the file system does not support it. */
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
  throw fileError('ESTALE', `"${asked}" ${what} since it was read, and was left as it is; read it again`, asked)
}

function existsAlready(asked: string): Error {
  return fileError('ESTALE', `"${asked}" exists already, and was left as it is; read it first`, asked)
}

function discard(temporary: string): void {
  try {
    unlinkSync(temporary)
  } catch {
    // it was never created
  }
}

/** Makes the rename durable, if the system and the folder allow it. */
async function sync(folder: HeldFile): Promise<void> {
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
