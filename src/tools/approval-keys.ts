import { posix } from 'node:path'
import { boundedKey } from '../platform/digest.ts'

/** An approval of one file covers its folder, so that the person is not asked again for the next file. */
export const parentKey = (path: string): string => boundedKey(posix.dirname(normal(path)))

/** An approval of a folder covers that folder. */
export const folderKey = (path = '.'): string => boundedKey(normal(path || '.').replace(/(.)\/$/, '$1'))

/** An approval of a command covers the same command in the same folder. */
export const commandKey = (command: string, cwd?: string): string =>
  boundedKey(cwd === undefined ? command.trim() : `${JSON.stringify(cwd)} ${command.trim()}`)

/** The host of an address, as rules compare it: a URL has it in lower case and Punycode already. */
export function hostOf(url: string): string {
  const host = URL.parse(url)
    ?.hostname.replace(/^\[|\]$/g, '')
    .replace(/\.+$/, '')
  return boundedKey(host || url)
}

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
