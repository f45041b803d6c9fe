import { constants } from 'node:fs'
import { access, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { codeOf } from '../../core/errors.ts'
import { shellWord } from '../../core/execution.ts'
import { broken, type Check, type Finding, ok } from './check.ts'

/** The user's own folder: it exists or can be made, only the user can write to it, and others cannot read its secrets. */
export const homeFolder: Check = {
  name: 'home',
  isEssential: true,
  async look({ io: { home } }) {
    const info = await stat(home).catch((error: unknown) => codeOf(error) ?? 'unknown')
    if (info === 'ENOENT') return judgeParent(home)
    if (typeof info === 'string')
      return broken(
        `${home} cannot be looked at (${info})`,
        'see whose it is with ls -ld, or set LIBERO_HOME to another folder',
      )
    if (!info.isDirectory())
      return broken(`${home} is not a folder`, `mv ${shellWord(home)} ${shellWord(`${home}.old`)}`)
    if (!(await isWritable(home)))
      return broken(`${home} cannot be written`, `chmod u+rwx ${shellWord(home)}, or set LIBERO_HOME to another folder`)
    const mode = process.platform === 'win32' ? 0 : info.mode
    if (mode & 0o022)
      return broken(
        `${home} can be written by others (mode ${(mode & 0o7777).toString(8)}), so nothing in it counts`,
        `look through it, then run: chmod 700 ${shellWord(home)}`,
      )
    const open = await openFiles(home)
    if (open.length > 0)
      return broken(
        `others may read ${open.join(', ')} in ${home}`,
        `chmod 600 ${open.map((name) => shellWord(join(home, name))).join(' ')}`,
      )
    return ok(mode & 0o055 ? `${home}; others may list it, and read nothing secret` : `${home}, for you alone`)
  },
}

async function judgeParent(home: string): Promise<Finding> {
  let above = dirname(home)
  for (let i = 0; i < 100 && (await stat(above).catch(() => undefined)) === undefined; i++) above = dirname(above)
  if (await isWritable(above)) return ok(`${home} is made when it is needed`)
  return broken(`${home} is not there, and ${above} cannot be written`, 'set LIBERO_HOME to a folder of your own')
}

const isWritable = (path: string): Promise<boolean> =>
  access(path, constants.R_OK | constants.W_OK | constants.X_OK).then(
    () => true,
    () => false,
  )

/** Files with secrets that others may read. */
async function openFiles(home: string): Promise<string[]> {
  if (process.platform === 'win32') return []
  const open: string[] = []
  for (const name of ['credentials.json', 'sessions.db']) {
    const info = await stat(join(home, name)).catch(() => undefined)
    if (info && info.mode & 0o077) open.push(name)
  }
  return open
}
