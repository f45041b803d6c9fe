import { statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { textStart } from '../../platform/text-start.ts'
import { realPathOf } from '../files/confined-path.ts'

/**
 * Whether git takes a folder with these names in it for a git folder, as the script of snapshots does. What is behind the names
 * does not count: a command can change that.
 */
export function isGitFolder(has: (name: string) => boolean): boolean {
  return has('HEAD') && (has('commondir') || (has('objects') && has('refs')))
}

/** The folders by which git works at a `.git` folder, link or file, or a bare repository. */
export interface GitPlace {
  /** With HEAD and index. */
  readonly own: string
  /** With config, hooks and objects: the same, unless a file `commondir` names another one. */
  readonly common: string
}

/** Follows a `.git` file and `commondir` as git does: one step each. */
export function gitPlaceAt(path: string): GitPlace {
  const text = isFile(path) ? nameIn(path) : ''
  const own = text.startsWith(prefix) ? pathFrom(dirname(path), text.slice(prefix.length)) : path
  const shared = nameIn(`${own}/commondir`)
  return { own, common: shared === '' ? own : pathFrom(own, shared) }
}

const prefix = 'gitdir: '
const mostText = 64 * 1024

/** As git reads it: a name may begin or end with a blank, and have a line break in it. */
function nameIn(file: string): string {
  const [text = ''] = textStart(file, mostText).split('\0')
  return text.replace(/[\r\n]+$/, '')
}

/** A path as the system finds it: it goes back over a link from where it leads to, and not from where it lies. */
export function pathFrom(folder: string, path: string): string {
  let at = path.startsWith('/') ? '/' : realPathOf(folder)
  for (const name of path.split('/')) {
    if (name === '..') at = dirname(at)
    else if (name !== '' && name !== '.') at = realPathOf(join(at, name))
  }
  return at
}

function isFile(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false })?.isFile() ?? false
  } catch {
    return false
  }
}
