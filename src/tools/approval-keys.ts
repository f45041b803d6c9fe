import { posix } from 'node:path'
import { boundedKey } from '../platform/digest.ts'

/** An approval of one file covers its folder, so that the person is not asked again for the next file. */
export const parentKey = (path: string): string => boundedKey(posix.dirname(normal(path)))

/** An approval of a folder covers that folder. */
export const folderKey = (path = '.'): string => boundedKey(normal(path || '.').replace(/(.)\/$/, '$1'))

export const hostOf = (url: string): string => boundedKey(URL.parse(url)?.hostname || url)

/** An approval of an address covers its host. A long address could carry data out, so its approval covers only itself. */
export function addressKey(url: string): string {
  const { pathname = '', search = '', hash = '' } = URL.parse(url) ?? {}
  return pathname.length + search.length + hash.length > maxCarriedLength
    ? boundedKey(`${hostOf(url)} ${url}`)
    : hostOf(url)
}

/** Enough for a search, too little to send a file out. */
const maxCarriedLength = 512

const normal = (path: string): string => posix.normalize(path.replaceAll('\\', '/'))
