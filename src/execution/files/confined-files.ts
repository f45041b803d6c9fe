import { constants } from 'node:buffer'
import { type BigIntStats, closeSync, type Dirent, fstatSync, read, readdir, stat } from 'node:fs'
import { homedir } from 'node:os'
import { promisify } from 'node:util'
import { codeOf } from '../../core/errors.ts'
import type { FileInfo, OpenFile, WriteFileOptions } from '../../core/execution.ts'
import { mayBePlaceholder } from '../bubblewrap/protected-paths.ts'
import { type HeldFile, type Hold, hasDescriptorPaths, holdByDescriptor, holdByPath } from './confined-hold.ts'
import {
  fileError,
  type Roots,
  readPath,
  realPathOf,
  refuseUnlessRegular,
  resolveRoots,
  stampOf,
} from './confined-path.ts'
import { replaceFile } from './confined-write.ts'
import { hasPlaceholderMark } from './placeholder-folders.ts'

/** Files of this machine whose real paths are inside certain folders. */
export interface ConfinedFiles {
  stat(cwd: string, path: string): Promise<FileInfo>
  openFile(cwd: string, path: string): Promise<OpenFile>
  readFile(cwd: string, path: string): Promise<string>
  writeFile(cwd: string, path: string, content: string | Uint8Array, options?: WriteFileOptions): Promise<void>
  listFiles(cwd: string, path: string): Promise<string[]>
}

export interface ConfinedFilesOptions {
  /** Absolute folders, or these as they were resolved before; `any` allows all paths. Special files are refused and writes are atomic in any case. */
  readonly roots: readonly string[] | 'any' | Roots
  /** Default: if the system supports it. False: by paths, which is weaker. */
  readonly byDescriptor?: boolean
}

/** Every operation checks the file that is open, not a path that was checked before. */
export function confinedFiles({ roots, byDescriptor = hasDescriptorPaths() }: ConfinedFilesOptions): ConfinedFiles {
  const resolved = typeof roots === 'object' && 'check' in roots ? roots : resolveRoots(roots)
  const hold = byDescriptor ? holdByDescriptor(resolved) : holdByPath

  /** Runs work with the absolute path; an error names that path, and reveals nothing about files outside. */
  async function on<T>(cwd: string, path: string, work: (asked: string) => Promise<T>): Promise<T> {
    const asked = readPath(path, { cwd, home: homedir, platform: process.platform })
    try {
      return await work(asked)
    } catch (error) {
      throw problem(error, asked, resolved)
    }
  }

  async function open(asked: string): Promise<Opened> {
    const held = await holdInside(hold, resolved, asked)
    try {
      refuseUnlessRegular(held.stats, asked)
      return opened(await held.open(), held.path, asked)
    } finally {
      held.close()
    }
  }

  return {
    stat: (cwd, path) =>
      on(cwd, path, async (asked) => {
        const held = await holdInside(hold, resolved, asked)
        held.close()
        return infoOf(held.path, held.stats)
      }),

    openFile: (cwd, path) => on(cwd, path, async (asked) => openFile(await open(asked))),

    readFile: (cwd, path) => on(cwd, path, async (asked) => readText(await open(asked), asked)),

    writeFile: (cwd, path, content, options = {}) =>
      on(cwd, path, (asked) => replaceFile({ hold, roots: resolved }, asked, content, options)),

    listFiles: (cwd, path) =>
      on(cwd, path, async (asked) => {
        const folder = await holdInside(hold, resolved, asked, { folder: true })
        try {
          const names = await namesIn(folder)
          const path = folder.currentPath()
          resolved.check(path, asked)
          return names.filter((name) => !isPlaceholder(path, name))
        } finally {
          folder.close()
        }
      }),
  }
}

/** Sandboxes put some forty of them there for a while: the names of most begin with a dot, `.github/workflows` does not. */
function isPlaceholder(folder: string, name: string): boolean {
  if (!name.endsWith('/') || !(name.startsWith('.') || mayBePlaceholder(name.slice(0, -1)))) return false
  return hasPlaceholderMark(`${folder}/${name}`)
}

interface Opened {
  readonly fd: number
  readonly info: FileInfo
}

async function holdInside(hold: Hold, roots: Roots, asked: string, options?: { folder: true }): Promise<HeldFile> {
  const held = await hold(asked, options)
  try {
    roots.check(held.path, asked)
    return held
  } catch (error) {
    held.close()
    throw error
  }
}

function opened(fd: number, path: string, asked: string): Opened {
  try {
    const stats = fstatSync(fd, { bigint: true })
    refuseUnlessRegular(stats, asked)
    return { fd, info: infoOf(path, stats) }
  } catch (error) {
    closeSync(fd)
    throw error
  }
}

function infoOf(path: string, stats: BigIntStats): FileInfo {
  return {
    path,
    key: `file:${path}`,
    kind: stats.isFile() ? 'file' : stats.isDirectory() ? 'folder' : 'other',
    size: Number(stats.size),
    mtimeMs: Number(stats.mtimeNs) / 1e6,
    stamp: stampOf(stats),
  }
}

function openFile({ fd, info }: Opened): OpenFile {
  const reads = new Set<Promise<unknown>>()
  let closing: Promise<void> | undefined

  /** Waits for reads, because the number of a closed descriptor is soon used again. */
  async function closeAfterReads(): Promise<void> {
    await Promise.allSettled(reads)
    closeSync(fd)
  }

  return {
    info,
    async read(position, length) {
      if (closing) throw fileError('EBADF', `"${info.path}" was closed; open it again`, info.path)
      const work = readPart(fd, position, length)
      reads.add(work)
      return work.finally(() => reads.delete(work))
    },
    close: () => (closing ??= closeAfterReads()),
  }
}

const readFd = promisify(read)
/** For files of /proc, which report a size of 0. */
const chunk = 65_536

/** The size is read each time: a file may grow, and the end is found without another read. */
async function readPart(fd: number, position: number, length: number): Promise<Uint8Array> {
  const parts: Uint8Array[] = []
  let got = 0
  while (got < length) {
    const { size } = fstatSync(fd)
    const left = size === 0 ? chunk : size - position - got
    if (left <= 0) break
    const buffer = Buffer.allocUnsafe(Math.min(left, length - got))
    const { bytesRead } = await readFd(fd, buffer, 0, buffer.length, position + got)
    if (bytesRead === 0) break
    parts.push(buffer.subarray(0, bytesRead))
    got += bytesRead
  }
  return parts.length === 1 ? parts[0]! : Buffer.concat(parts)
}

async function readText({ fd, info }: Opened, asked: string): Promise<string> {
  try {
    if (info.size > constants.MAX_STRING_LENGTH)
      throw fileError(
        'EFBIG',
        `"${asked}" is too big to be read at once (${info.size} bytes); read a part of it`,
        asked,
      )
    const bytes = await readPart(fd, 0, constants.MAX_STRING_LENGTH)
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8')
  } finally {
    closeSync(fd)
  }
}

const readFolder = promisify(readdir) as (path: string, options: { withFileTypes: true }) => Promise<Dirent[]>
const statOf = promisify(stat)

async function namesIn(folder: HeldFile): Promise<string[]> {
  const entries = await readFolder(folder.at(), { withFileTypes: true })
  const names = entries.map(async (entry) => {
    const isFolder = entry.isDirectory() || (entry.isSymbolicLink() && (await leadsToFolder(folder.at(entry.name))))
    return isFolder ? `${entry.name}/` : entry.name
  })
  return (await Promise.all(names)).sort()
}

async function leadsToFolder(link: string): Promise<boolean> {
  try {
    return (await statOf(link)).isDirectory()
  } catch {
    return false
  }
}

/** Outside the roots every failure is the same, so that it does not reveal whether a file exists. */
function problem(error: unknown, asked: string, roots: Roots): unknown {
  if (codeOf(error) === 'EOUTSIDE') return error
  try {
    if (roots.folders) roots.check(realPathOf(asked), asked)
  } catch (outside) {
    return outside
  }
  if (!(error instanceof Error) || !('syscall' in error)) return error
  // The message of the system contains the path of a descriptor, which is replaced.
  const message = `${error.message.replace(/, \w+( '.*)?$/s, '')}: "${asked}"`
  return Object.assign(new Error(message, { cause: error }), {
    code: codeOf(error),
    syscall: error.syscall,
    path: asked,
  })
}
