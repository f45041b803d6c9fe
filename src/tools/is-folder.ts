import { codeOf } from '../core/errors.ts'
import type { FileLocation } from '../platform/files-of.ts'

/** Whether a path failed as a file because it is a folder; contexts of few verbs only say that there is no such file. */
export async function isFolder(error: unknown, path: string, { execution, handle }: FileLocation): Promise<boolean> {
  if (codeOf(error) === 'EISDIR') return true
  if (codeOf(error) !== 'ENOENT' || execution.openFile) return false
  return execution.listFiles(handle, path).then(
    () => true,
    () => false,
  )
}
