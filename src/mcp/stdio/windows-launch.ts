import { win32 } from 'node:path'

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
