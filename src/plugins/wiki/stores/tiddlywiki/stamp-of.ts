import { lstatSync } from 'node:fs'
import { codeOf } from '../../../../core/errors.ts'

/** What tells one state of a file from another: none where there is no file. A link has a state of its own. */
export function stampOf(path: string): string | undefined {
  try {
    const { ino, size, mtimeNs, ctimeNs, mode } = lstatSync(path, { bigint: true })
    return `${ino}:${size}:${mtimeNs}:${ctimeNs}:${mode}`
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return undefined
    throw error
  }
}
