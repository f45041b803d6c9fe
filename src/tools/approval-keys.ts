import { posix } from 'node:path'
import { boundedKey } from '../platform/bounded-key.ts'

/** An approval of one file holds for its folder: who lets one be read does not want to be asked for the next. */
export const parentKey = (path: string): string => boundedKey(posix.dirname(normal(path)))

/** An approval of a folder holds for that folder. */
export const folderKey = (path = '.'): string => boundedKey(normal(path || '.').replace(/(.)\/$/, '$1'))

export const hostOf = (url: string): string => boundedKey(URL.parse(url)?.hostname || url)

/** An approval of an address holds for its host; one that carries more than a page's name and a few words, for itself alone. */
export function addressKey(url: string): string {
  const { pathname = '', search = '', hash = '' } = URL.parse(url) ?? {}
  return pathname.length + search.length + hash.length > mostCarried ? boundedKey(`${hostOf(url)} ${url}`) : hostOf(url)
}

/** Enough for a search; too little to carry a file away. */
const mostCarried = 512

const normal = (path: string): string => posix.normalize(path.replaceAll('\\', '/'))
