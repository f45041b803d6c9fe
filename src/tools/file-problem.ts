import { codeOf, messageOf } from '../core/errors.ts'
import { nearest } from '../core/nearest.ts'
import type { FileLocation } from '../platform/files-of.ts'
import { visibleName } from '../platform/visible-text.ts'

/** The error of a file operation as an error for the model, with what to do next. */
export async function fileProblem(error: unknown, path: string, location: FileLocation): Promise<Error> {
  const code = codeOf(error)
  const shown = shownPath(path)
  if (code === 'ENOENT') return new Error(`there is no ${shown}${await similar(path, location)}`, { cause: error })
  const text = (code && explained[code]?.(shown)) ?? bounded(visibleName(messageOf(error)), maxMessageLength)
  return new Error(text, { cause: error })
}

/** A path for a message: in quotes, on one line, of limited length. */
export const shownPath = (path: string): string => `"${bounded(visibleName(path), maxPathLength)}"`

const maxPathLength = 200
const maxMessageLength = 800

const bounded = (text: string, max: number): string =>
  text.length <= max ? text : `${text.slice(0, max).toWellFormed()}… (${text.length} characters)`

const explained: Record<string, (path: string) => string> = {
  EISDIR: (path) => `${path} is a folder, not a file`,
  ENOTDIR: (path) => `${path} cannot be: a part of that path is a file, not a folder`,
  EACCES: (path) => `no permission for ${path}`,
  EPERM: (path) => `no permission for ${path}`,
  EROFS: (path) => `${path} is on a read-only file system`,
  ELOOP: (path) => `${path} is a link that leads round in a circle`,
  ENAMETOOLONG: (path) => `the path ${path} is too long for this system`,
  ENOSPC: (path) => `no room left on the disk; ${path} was left as it was`,
  EDQUOT: (path) => `the disk quota is used up; ${path} was left as it was`,
  EFBIG: (path) => `the file would be larger than this system allows; ${path} was left as it was`,
  EMFILE: (path) => `too many files are open at the moment to open ${path}; try again`,
  ENFILE: (path) => `too many files are open at the moment to open ${path}; try again`,
  ESTALE: (path) => `${path} was changed meanwhile and was left as it is; read it again`,
}

/** Similar names in the same folder, or why there are none. */
async function similar(path: string, { execution, handle }: FileLocation): Promise<string> {
  const slash = path.lastIndexOf('/')
  const folder = slash > 0 ? path.slice(0, slash) : slash === 0 ? '/' : '.'
  const name = path.slice(slash + 1)
  try {
    const names = (await execution.listFiles(handle, folder)).map((entry) => entry.replace(/\/$/, ''))
    if (names.includes(name)) return ': it is a link to something that is not there'
    const close = name.length > 80 ? [] : nearest(name, names)
    const prefix = path.slice(0, slash + 1)
    if (close.length > 0)
      return `; did you mean ${close.map((similarName) => shownPath(prefix + similarName)).join(' or ')}?`
    return names.length > 0 ? '' : `; the folder ${shownPath(folder)} is empty`
  } catch {
    return folder === '.' ? '' : `, and no folder ${shownPath(folder)} either`
  }
}

/** Whether opening a file failed because the path is a folder. A context without `openFile` reports `ENOENT` for a folder. */
export async function isFolder(error: unknown, path: string, { execution, handle }: FileLocation): Promise<boolean> {
  if (codeOf(error) === 'EISDIR') return true
  if (codeOf(error) !== 'ENOENT' || execution.openFile) return false
  return execution.listFiles(handle, path).then(
    () => true,
    () => false,
  )
}
