import { posix } from 'node:path'
import { digestOf } from '../platform/digest.ts'
import { visibleName } from '../platform/visible-text.ts'

/** An approval of one file holds for its folder: who lets one be read does not want to be asked for the next. */
export const parentKey = (path: string): string => boundedKey(posix.dirname(normal(path)))

/** An approval of a folder holds for that folder. */
export const folderKey = (path = '.'): string => boundedKey(normal(path || '.').replace(/(.)\/$/, '$1'))

/** An approval of an address holds for its host. */
export const hostKey = (url: string): string => boundedKey(URL.parse(url)?.hostname || url)

/** Keys are short and printable; anything else is known by its digest. */
export function boundedKey(key: string): string {
  const isPlain = key !== '' && visibleName(key) === key && new TextEncoder().encode(key).length <= 1024
  return isPlain ? key : `sha256:${digestOf(key)}`
}

const normal = (path: string): string => posix.normalize(path.replaceAll('\\', '/'))
