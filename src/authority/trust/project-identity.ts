import { realpath, stat } from 'node:fs/promises'
import { homedir, tmpdir } from 'node:os'
import { parse, relative, resolve } from 'node:path'
import { CodedError, codeOf } from '../../core/errors.ts'
import { isWithin } from '../../platform/source-files.ts'
import { fullyVisible } from '../../platform/visible-text.ts'

/** The identity of a project folder: another folder at the same path is another project. */
export interface ProjectIdentity {
  readonly canonicalPath: string
  readonly device: string
  readonly inode: string
}

/** The identity of the folder at a path, links resolved. */
export async function identifyProject(path: string): Promise<ProjectIdentity> {
  const canonicalPath = await realpath(path).catch((cause) => noFolder(path, cause))
  const info = await stat(canonicalPath, { bigint: true }).catch((cause) => noFolder(path, cause))
  if (!info.isDirectory()) noFolder(path)
  return { canonicalPath, device: String(info.dev), inode: String(info.ino) }
}

/** Whether two identities are the same folder. */
export function isSameProject(a: ProjectIdentity, b: ProjectIdentity): boolean {
  return a.canonicalPath === b.canonicalPath && a.device === b.device && a.inode === b.inode
}

/** Why a folder can never be trusted, or undefined if it can. `keptIn` is the folder of the trust list. */
export async function whyUntrustable({ canonicalPath }: ProjectIdentity, keptIn: string): Promise<string | undefined> {
  const reason = await whyNotAProject(canonicalPath)
  if (reason !== undefined) return reason
  const list = await realPathOrSame(keptIn)
  if (isWithin(canonicalPath, list)) return `the trust list is kept inside it, in ${fullyVisible(list)}`
  if (isWithin(list, canonicalPath)) return `it lies in ${fullyVisible(list)}, where the trust list is kept`
  return undefined
}

/** Why a folder cannot be a project; undefined if it may be one. */
export async function whyNotAProject(canonicalPath: string): Promise<string | undefined> {
  const [home, ...temporary] = await Promise.all([homedir(), tmpdir(), '/tmp', '/var/tmp'].map(realPathOrSame))
  if (canonicalPath === parse(canonicalPath).root) return 'it is the root of the file system'
  if (temporary.includes(canonicalPath)) return 'it is the folder for temporary files, where every user may write'
  if (isWithin(canonicalPath, home ?? '')) return 'it is the home folder, or holds it'
  return undefined
}

/** The real path; for a path that does not exist, that of its nearest existing folder, plus the rest. */
export async function realPathOrSame(path: string): Promise<string> {
  const full = resolve(path)
  try {
    return await realpath(full)
  } catch {
    const above = resolve(full, '..')
    return above === full ? full : resolve(await realPathOrSame(above), relative(above, full))
  }
}

function noFolder(path: string, cause?: unknown): never {
  throw new CodedError(
    'Validation/ProjectNotFound',
    `${fullyVisible(path)} is not a folder that can be entered (${codeOf(cause) ?? 'ENOTDIR'}); pass the folder of a project`,
    { cause },
  )
}
