import { constants } from 'node:fs'
import { access, stat } from 'node:fs/promises'
import { delimiter, isAbsolute, join, resolve, win32 } from 'node:path'
import { codeOf } from '../../core/errors.ts'
import { visibleName } from '../../platform/visible-text.ts'

interface FindProgramOptions {
  /** Absolute; the base of a relative command. */
  readonly cwd: string
  /** The PATH of the program's environment. */
  readonly path: string | undefined
  /** Extensions to try on Windows: `['.exe', '.cmd']`. */
  readonly endings?: readonly string[]
}

/** The absolute path of a program, found like a shell does, but ignoring relative folders in PATH. Throws if there is none. */
export async function findProgram(command: string, options: FindProgramOptions): Promise<string> {
  const { cwd, path = '', endings = [] } = options
  const isPath = command.includes('/') || (process.platform === 'win32' && command.includes('\\'))
  const places = isPath
    ? [resolve(cwd, command)]
    : path
        .split(delimiter)
        .filter(isAbsolute)
        .map((folder) => join(folder, command))
  let unusable: string | undefined
  for (const place of places.flatMap((one) => spellingsOf(one, endings))) {
    const found = await statusOf(place)
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

/** Extensions come first: on Windows a bare name is often a script for another system. */
function spellingsOf(place: string, endings: readonly string[]): string[] {
  const hasEnding = endings.some((ending) => place.toLowerCase().endsWith(ending))
  return hasEnding ? [place] : [...endings.map((ending) => place + ending), place]
}

async function statusOf(place: string): Promise<'program' | 'no program' | 'nothing'> {
  try {
    if (!(await stat(place)).isFile()) return 'no program'
    await access(place, constants.X_OK)
    return 'program'
  } catch (error) {
    return codeOf(error) === 'EACCES' ? 'no program' : 'nothing'
  }
}

/** A program and its arguments, to be started without a shell. */
export interface Launch {
  readonly file: string
  readonly args: readonly string[]
}

/**
 * How to start a program on Windows. `cmd.exe` runs batch files and may interpret arguments as commands, so npm and npx are
 * run by our own Node from their scripts, and any other batch file is refused.
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

/** Where the installer of Node puts the scripts, beside `npm.cmd` and `npx.cmd`. */
const npmScripts: Readonly<Record<string, string>> = { npm: 'npm-cli.js', npx: 'npx-cli.js' }

/** The extensions of programs on Windows; those that need no shell come first. */
export const windowsEndings = ['.exe', '.com', '.cmd', '.bat']
