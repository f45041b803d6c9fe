import { messageOf } from '../core/errors.ts'
import { nearest } from '../core/nearest.ts'
import { codeOf } from '../platform/files.ts'
import type { FilePlace } from '../platform/files-of.ts'

/** What a file verb threw, in words that tell the model what to do next. */
export async function fileProblem(error: unknown, path: string, place: FilePlace): Promise<Error> {
  const code = codeOf(error)
  if (code === 'ENOENT') return problem(`there is no "${path}"${await similar(path, place)}`, error)
  const text = (code && explained[code]?.(path)) ?? messageOf(error)
  return problem(text, error)
}

const explained: Record<string, (path: string) => string> = {
  EISDIR: (path) => `"${path}" is a folder, not a file`,
  ENOTDIR: (path) => `"${path}" cannot be: a part of that path is a file, not a folder`,
  EACCES: (path) => `no permission for "${path}"`,
  EPERM: (path) => `no permission for "${path}"`,
  EROFS: (path) => `"${path}" is on a read-only file system`,
  ELOOP: (path) => `"${path}" is a link that leads round in a circle`,
  ENAMETOOLONG: () => 'the path is too long',
  ENOSPC: (path) => `no room left on the disk; "${path}" was left as it was`,
  EDQUOT: (path) => `the disk quota is used up; "${path}" was left as it was`,
  ESTALE: (path) => `"${path}" was changed by somebody else meanwhile and was left as it is; read it again`,
}

function problem(text: string, cause: unknown): Error {
  return new Error(text, { cause })
}

/** Neighbours with a similar name, or what is there at all. */
async function similar(path: string, { execution, handle }: FilePlace): Promise<string> {
  const slash = path.lastIndexOf('/')
  const folder = slash > 0 ? path.slice(0, slash) : slash === 0 ? '/' : '.'
  try {
    const names = (await execution.listFiles(handle, folder)).map((name) => name.replace(/\/$/, ''))
    const close = nearest(path.slice(slash + 1), names)
    const prefix = path.slice(0, slash + 1)
    if (close.length > 0) return `; did you mean ${close.map((name) => `"${prefix}${name}"`).join(' or ')}?`
    return names.length > 0 ? '' : `; the folder "${folder}" is empty`
  } catch {
    return folder === '.' ? '' : `, and no folder "${folder}" either`
  }
}
