import { constants } from 'node:fs'
import { type FileHandle, lstat, open, readlink, realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { isWithin } from '../platform/source-files.ts'
import { fullyVisible } from '../platform/visible-text.ts'
import type { Skill } from './skill.ts'

/** Why a path cannot be a file of a skill, by its text alone; undefined if it may be one. */
export function pathProblem(path: string): string | undefined {
  const shown = `"${fullyVisible(path.slice(0, 200))}"`
  if (path.trim() === '') return 'the path is empty; name a file of the skill'
  if (path.length > 1024 || path.includes('\0')) return `${shown} is no path of a file`
  const isInside = !/^(?:[/\\~]|[A-Za-z]:)/.test(path) && !path.split(/[/\\]/).includes('..')
  return isInside
    ? undefined
    : `${shown} leads out of the skill's folder; give a path inside it, such as scripts/run.sh`
}

/** Opens a regular file of a skill and passes it to `use`. Links must lead to a file inside the folder. */
export async function withSkillFile<T>(
  { name, folder }: Skill,
  path: string,
  use: (file: FileHandle) => Promise<T>,
): Promise<T> {
  if (folder === undefined) throw new Error(`the skill "${name}" was written by the program and has no files`)
  const problem = pathProblem(path)
  if (problem !== undefined) throw new Error(problem)
  const shown = `"${fullyVisible(path)}"`
  const real = await realpath(join(folder, path)).catch(() => undefined)
  if (real === undefined)
    throw new Error(`the skill "${name}" has no file ${shown}; its files are listed by skills_use`)
  if (!isWithin(folder, real)) throw new Error(`${shown} leads out of the folder of the skill "${name}"`)
  const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants
  const file = await open(real, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
  try {
    const info = await file.stat()
    if (!info.isFile()) throw new Error(`${shown} is no regular file`)
    // A parent folder may have been replaced by a link meanwhile. Linux knows the path of an open file; on other systems a
    // folder that is swapped twice between these lines is not detected.
    const opened = await readlink(`/proc/self/fd/${file.fd}`).catch(() => real)
    if (opened !== real) throw new Error(`${shown} changed while it was being opened`)
    const now = (await realpath(real)) === real ? await lstat(real) : undefined
    if (now?.ino !== info.ino || now.dev !== info.dev) throw new Error(`${shown} changed while it was being opened`)
    return await use(file)
  } finally {
    await file.close()
  }
}
