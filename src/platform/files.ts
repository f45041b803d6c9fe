import { constants } from 'node:fs'
import { mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { AgentError, codeOf, messageOf } from '../core/errors.ts'
import { isMarkOfDeadProcess, processMark } from './process-identity.ts'

/** Replaces a file in one step: a reader sees the old text or the new one, also after a crash. A link at `path` is replaced. */
export async function writeFileAtomic(
  path: string,
  text: string | AsyncIterable<string>,
  { mode = 0o600 } = {},
): Promise<void> {
  const folder = dirname(path)
  const temporary = `${path}.libero-${processMark()}.tmp`
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    await removeLeftovers(folder)
    await writeNew(temporary, text, mode)
    await rename(temporary, path)
    await syncFolder(folder)
  } catch (cause) {
    await rm(temporary, { force: true }).catch(() => {})
    const next = resourceShortage(codeOf(cause) ?? '') ?? 'check that the folder is writable and the disk has room'
    throw new AgentError(`Cannot write ${path}: ${messageOf(cause)}; ${next}`, { cause })
  }
}

/** Removes temporary files of processes that were killed while they replaced a file. */
async function removeLeftovers(folder: string): Promise<void> {
  for (const name of await readdir(folder).catch(() => [])) {
    const mark = /\.libero-([0-9a-f]{8}-\d+-[0-9a-f]{8})\.tmp$/.exec(name)?.[1]
    if (mark !== undefined && isMarkOfDeadProcess(mark)) await rm(join(folder, name), { force: true }).catch(() => {})
  }
}

/** The text of a file, or undefined if there is none. Does not wait on a pipe. */
export async function readTextIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, { encoding: 'utf8', flag: constants.O_RDONLY | (constants.O_NONBLOCK ?? 0) })
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  }
}

async function writeNew(path: string, text: string | AsyncIterable<string>, mode: number): Promise<void> {
  const file = await open(path, 'wx', mode)
  try {
    await file.writeFile(text)
    await file.sync()
  } finally {
    await file.close()
  }
}

/** The error codes of systems that cannot open or sync a folder. */
const unsupported = new Set(['EACCES', 'EBADF', 'EINVAL', 'EISDIR', 'ENOSYS', 'ENOTSUP', 'EOPNOTSUPP', 'EPERM'])

/** A rename is only durable once its folder is synced. */
export async function syncFolder(folder: string): Promise<void> {
  try {
    const handle = await open(folder, 'r')
    await handle.sync().finally(() => handle.close())
  } catch (error) {
    if (!unsupported.has(codeOf(error) ?? '')) throw error
  }
}

/** Which resource of this machine is used up, with what to do; undefined for other errors. */
export function resourceShortage(code: string): string | undefined {
  switch (code) {
    case 'EMFILE':
    case 'ENFILE':
      return 'too many files are open; end other work, or raise the limit (ulimit -n)'
    case 'EAGAIN':
    case 'ENOMEM':
      return 'this machine has no room for another process; end other work, or raise the limits (ulimit -u, memory)'
    default:
      return undefined
  }
}
