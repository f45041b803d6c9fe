import { dirname, join, resolve } from 'node:path'
import { readTextIfThere } from './files.ts'

/** The branch that is checked out in a folder, or the beginning of the commit; undefined outside of a repository. Starts no process. */
export async function gitBranch(folder: string): Promise<string | undefined> {
  for (let at = resolve(folder); ; at = dirname(at)) {
    const head = await headIn(join(at, '.git'))
    if (head !== undefined) return branchOf(head)
    if (at === dirname(at)) return undefined
  }
}

/** In a worktree `.git` is a file that names the folder. */
async function headIn(git: string): Promise<string | undefined> {
  const inFolder = await textOf(join(git, 'HEAD'))
  if (inFolder !== undefined) return inFolder
  const elsewhere = /^gitdir: (.+)$/m.exec((await textOf(git)) ?? '')?.[1]
  return elsewhere === undefined ? undefined : textOf(join(resolve(dirname(git), elsewhere), 'HEAD'))
}

/** What cannot be read is not there: a branch is only shown. */
const textOf = (path: string): Promise<string | undefined> => readTextIfThere(path).catch(() => undefined)

function branchOf(head: string): string | undefined {
  const branch = /^ref: refs\/heads\/(.+)$/m.exec(head)?.[1]
  return branch ?? /^[0-9a-f]{7}/.exec(head)?.[0]
}
