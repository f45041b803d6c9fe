import { constants } from 'node:fs'
import { access, stat } from 'node:fs/promises'
import { delimiter, isAbsolute, join, resolve, win32 } from 'node:path'
import { codeOf } from '../../core/errors.ts'
import { visibleName } from '../../platform/visible-text.ts'

export interface FindProgramOptions {
  /** Absolute; where a relative path begins. */
  readonly cwd: string
  /** As in the environment of the program. */
  readonly path: string | undefined
  /** Endings to try where none is given, on Windows: `['.exe', '.cmd']`. */
  readonly endings?: readonly string[]
}

/** The absolute path of a program, as a shell would find it, but never by a relative folder in PATH. Throws what to do if there is none. */
export async function findProgram(command: string, options: FindProgramOptions): Promise<string> {
  const { cwd, path = '', endings = [] } = options
  const isPath = command.includes('/') || (process.platform === 'win32' && command.includes('\\'))
  const places = isPath ? [resolve(cwd, command)] : foldersIn(path).map((folder) => join(folder, command))
  let unusable: string | undefined
  for (const place of places.flatMap((one) => spellingsOf(one, endings))) {
    const found = await lookAt(place)
    if (found === 'program') return place
    if (found === 'no program') unusable ??= place
  }
  const shown = visibleName(command)
  if (unusable !== undefined)
    throw new Error(
      `${visibleName(unusable)} is no program that may be run; make it executable (chmod +x), or give another one`,
    )
  if (isPath) throw new Error(`there is no program "${shown}"; check the path (it begins at ${visibleName(cwd)})`)
  throw new Error(`there is no program "${shown}" on PATH; install it, or give its full path as command`)
}

/** What lies in the folder somebody works in is not what he means by a name. */
function foldersIn(path: string): string[] {
  return path.split(delimiter).filter(isAbsolute)
}

/** On Windows a bare name is often a script for another system, beside the program that is meant. */
function spellingsOf(place: string, endings: readonly string[]): string[] {
  const hasEnding = endings.some((ending) => place.toLowerCase().endsWith(ending))
  return hasEnding ? [place] : [...endings.map((ending) => place + ending), place]
}

async function lookAt(place: string): Promise<'program' | 'no program' | 'nothing'> {
  try {
    if (!(await stat(place)).isFile()) return 'no program'
    await access(place, constants.X_OK)
    return 'program'
  } catch (error) {
    return codeOf(error) === 'EACCES' ? 'no program' : 'nothing'
  }
}

/** A program and what it is given, fit to be started without a shell. */
export interface Launch {
  readonly file: string
  readonly args: readonly string[]
}

/**
 * How a program that was found is started on Windows. A batch file is read by `cmd.exe`, which takes arguments for commands:
 * so npm and npx are run by our own Node, from the script beside them, and any other batch file is refused.
 */
export function windowsLaunch(path: string, args: readonly string[], node: string): Launch {
  const { dir, name, ext } = win32.parse(path)
  switch (ext.toLowerCase()) {
    case '.exe':
    case '.com':
      return { file: path, args }
    case '.js':
    case '.cjs':
    case '.mjs':
      return { file: node, args: [path, ...args] }
    case '.cmd':
    case '.bat':
    case '': {
      const script = npmScripts[name.toLowerCase()]
      if (script) return { file: node, args: [win32.join(dir, 'node_modules', 'npm', 'bin', script), ...args] }
    }
  }
  throw new Error(
    `${path} is a script that needs a shell, and a shell could take its arguments for commands; give the program that it runs as command, such as "node" with the path of a .js file`,
  )
}

/** Where the installer of Node puts them, beside `npm.cmd` and `npx.cmd`. */
const npmScripts: Readonly<Record<string, string>> = { npm: 'npm-cli.js', npx: 'npx-cli.js' }

/** The endings by which Windows knows programs; those that need no shell come first. */
export const windowsEndings = ['.exe', '.com', '.cmd', '.bat']
