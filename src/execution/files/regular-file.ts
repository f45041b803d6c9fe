import type { BigIntStats } from 'node:fs'
import { fileError } from './confined-path.ts'

/** Another one whenever the content is another one, as far as the file system keeps time. */
export function stampOf({ ino, size, mtimeNs, ctimeNs }: BigIntStats): string {
  return `${ino}-${size}-${mtimeNs}-${ctimeNs}`
}

/** Throws for whatever has no content of its own: a pipe would wait for ever, a device never end. */
export function refuseUnlessRegular(stats: BigIntStats, asked: string): void {
  if (stats.isFile()) return
  if (stats.isDirectory()) throw fileError('EISDIR', `"${asked}" is a folder, not a file`, asked)
  throw fileError('EINVAL', `"${asked}" is ${nameOf(stats)}; only regular files can be read and written`, asked)
}

function nameOf(stats: BigIntStats): string {
  if (stats.isFIFO()) return 'a named pipe'
  if (stats.isSocket()) return 'a socket'
  return stats.isBlockDevice() || stats.isCharacterDevice() ? 'a device' : 'no regular file'
}
