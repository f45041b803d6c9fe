import { constants } from 'node:fs'
import { access, lstat, realpath, stat } from 'node:fs/promises'
import { posix } from 'node:path'
import { isIn } from '../platform/is-in.ts'
import type { CommandFacts } from '../shell/shell-facts.ts'
import { isBuiltin, showsContent, strictProgramOf } from '../shell/strict-table.ts'

interface LineLocation {
  /** The folder in which the line runs, absolute. */
  readonly cwd: string
  /** The workspace, links resolved. */
  readonly realRoot: string
  /** Where programs are found. Default: that of this process. */
  readonly path?: string | undefined
}

/**
 * Why the files that a strict line names are not what they seem; undefined if they are. It looks at this machine: the
 * program lies outside the workspace, and no word that is a file leads elsewhere by a link or has a second name.
 */
export async function whyNotPlainFiles(
  { command }: CommandFacts,
  { cwd, realRoot, path = process.env.PATH }: LineLocation,
): Promise<string | undefined> {
  const program = strictProgramOf(command)
  if (program === undefined) return 'its program is not known'
  const planted = isBuiltin(program) ? undefined : await whyPlanted(program, realRoot, path)
  if (planted !== undefined) return planted
  const words = new Set([...command.words.slice(1), ...command.redirects.flatMap(({ target }) => target ?? [])])
  const named = [...words].flatMap(spellings)
  if (named.length > mostPaths) return `it names more than ${mostPaths} files`
  for (const word of named) {
    const why = await whyNotPlain(word, posix.join(cwd, command.cwd ?? '.'), { realRoot, program })
    if (why !== undefined) return why
  }
  return undefined
}

const mostPaths = 64

/** The paths that a word may name: itself, or the value attached to a flag. */
function spellings(word: string): string[] {
  if (!word.startsWith('-')) return [word]
  return [word, word.slice(2), word.slice(word.indexOf('=') + 1)].filter((text) => text !== '' && text !== '-')
}

/** A program of the workspace may be called `grep`, and a folder of the workspace may be in `PATH`. */
async function whyPlanted(program: string, realRoot: string, path = ''): Promise<string | undefined> {
  for (const folder of path.split(':')) {
    if (!folder.startsWith('/'))
      return `PATH has ${folder === '' ? 'an empty entry' : folder}, which is no fixed folder`
    const found = posix.join(folder, program)
    if (!(await isProgram(found))) continue
    const real = await realpath(found).catch(() => undefined)
    const isOutside = real !== undefined && ![found, real].some((place) => isIn(place, realRoot))
    return isOutside ? undefined : `${program} is found in the workspace`
  }
  return `${program} is not found`
}

async function isProgram(path: string): Promise<boolean> {
  const info = await stat(path).catch(() => undefined)
  if (!info?.isFile()) return false
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  )
}

async function whyNotPlain(
  word: string,
  cwd: string,
  { realRoot, program }: { readonly realRoot: string; readonly program: string },
): Promise<string | undefined> {
  // Not `join`, which takes `link/..` away: the kernel follows the link first.
  const spelled = word.startsWith('/') ? word : `${cwd}/${word}`
  const own = await lstat(spelled).catch(() => undefined)
  if (!own) return undefined
  const real = await realpath(spelled).catch(() => undefined)
  if (real === undefined) return `${word} is a link that leads nowhere`
  const plain = posix.resolve(cwd, word)
  const realPlain = await realpath(plain).catch(() => undefined)
  if (real !== realPlain) return `${word} leads elsewhere than it says`
  if (real !== plain && !isIn(real, realRoot)) return `${word} is a link out of the workspace`
  if (!showsContent(program)) return undefined
  const info = await stat(real).catch(() => undefined)
  if (!info?.isFile()) return `${word} is no plain file`
  return info.nlink > 1 ? `${word} has a second name, which may lie outside the workspace` : undefined
}
