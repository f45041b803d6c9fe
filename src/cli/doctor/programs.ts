import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { broken, type Check, missing, ok, type Patient } from './check.ts'

/** Models use it, and so do people who look at what models did. */
export const git: Check = {
  name: 'git',
  async look(at) {
    const version = await versionOf('git', at)
    return version ? ok(version) : missing('there is no git', `install it: ${install('git')}`)
  },
}

/** Our own, which comes with the package where there is one for this machine, else the system's. */
export const ripgrep: Check = {
  name: 'ripgrep',
  async look(at) {
    const own = await import('@vscode/ripgrep').then(
      ({ rgPath }) => rgPath,
      () => undefined,
    )
    const bundled = own && (await versionOf(own, at))
    if (bundled) return ok(`${bundled}, ours`)
    const system = await versionOf('rg', at)
    if (system) return ok(`${system}, the system’s`)
    return missing(
      'there is none; searching is slower without it',
      `npm install @vscode/ripgrep, or ${install('ripgrep')}`,
    )
  },
}

/** What runs the model's commands. */
export const shell: Check = {
  name: 'shell',
  isEssential: true,
  async look(at) {
    const bash = ['/bin/bash', '/usr/bin/bash'].find((path) => existsSync(path))
    const version = bash && (await versionOf(bash, at))
    if (version) return ok(version.replace(/ Copyright.*/, ''))
    if (existsSync('/bin/sh')) return ok('/bin/sh; with bash, which models know best, commands work more often')
    return broken('there is neither bash nor /bin/sh', 'install bash; on Windows work in WSL: wsl --install')
  },
}

/** The first line of what a program says to `--version`; undefined where it is not there or cannot be run. */
export function versionOf(
  program: string,
  { io, signal }: Pick<Patient, 'io' | 'signal'>,
): Promise<string | undefined> {
  return new Promise((resolve) => {
    const options = {
      env: { ...io.env } as NodeJS.ProcessEnv,
      // Not in the project: where the PATH has a relative folder, its programs would be run.
      cwd: dirname(process.execPath),
      signal,
      timeout: 5000,
      killSignal: 'SIGKILL',
      maxBuffer: 65_536,
    } as const
    execFile(program, ['--version'], options, (error, stdout) =>
      resolve(error ? undefined : (stdout.split('\n', 1)[0] ?? '').slice(0, 100)),
    )
  })
}

function install(name: string): string {
  return process.platform === 'darwin' ? `brew install ${name}` : `apt-get install ${name}`
}
