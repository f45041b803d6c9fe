import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { stat, statfs } from 'node:fs/promises'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { withProgramPath } from '../../platform/program-path.ts'
import { hasColours } from '../../tui/terminal/paint.ts'
import { broken, type Check, type CheckContext, type Finding, missing, ok } from './diagnose.ts'

/** The oldest Node that runs this, as `engines` of package.json has it. */
export const oldestNode = '22.18'

export const nodeVersion: Check = {
  name: 'node',
  isEssential: true,
  run: async () => checkNode(process.versions.node),
}

export function checkNode(version: string): Finding {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const [oldestMajor = 0, oldestMinor = 0] = oldestNode.split('.').map(Number)
  if (major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)) return ok(`Node ${version}`)
  return broken(`Node ${version} is too old`, `install Node ${oldestNode} or newer, from https://nodejs.org`)
}

const minFreeBytes = 100 * 1024 * 1024

/** Free space for sessions and for temporary files of tools. */
export const diskSpace: Check = {
  name: 'disk',
  isEssential: true,
  async run({ io: { home } }) {
    const places = await Promise.all([home, tmpdir()].map(async (path) => ({ path, free: await freeAt(path) })))
    const full = places.filter(({ free }) => free < minFreeBytes)
    const says = places.map(({ path, free }) => `${sizeText(free)} free at ${path}`).join(', ')
    return full.length === 0
      ? ok(says)
      : broken(says, `free some space at ${full.map(({ path }) => path).join(' and ')}`)
  },
}

async function freeAt(path: string): Promise<number> {
  const { bavail, bsize } = await statfs(await existingFolder(path))
  return bavail * bsize
}

/** The path itself, or the nearest folder above it that exists. */
export async function existingFolder(path: string): Promise<string> {
  let folder = path
  for (let i = 0; i < 100 && (await stat(folder).catch(() => undefined)) === undefined; i++) folder = dirname(folder)
  return folder
}

const sizeText = (bytes: number): string =>
  bytes < 10 * 1024 ** 3 ? `${Math.floor(bytes / 1024 ** 2)} MiB` : `${Math.floor(bytes / 1024 ** 3)} GiB`

export const git: Check = {
  name: 'git',
  async run(context) {
    const version = await versionOf('git', context)
    return version ? ok(version) : missing('there is no git', `install it: ${install('git')}`)
  },
}

/** The bundled ripgrep if the package has one for this machine, else the system's. */
export const ripgrep: Check = {
  name: 'ripgrep',
  async run(context) {
    const own = await import('@vscode/ripgrep').then(
      ({ rgPath }) => rgPath,
      () => undefined,
    )
    const bundled = own && (await versionOf(own, context))
    if (bundled) return ok(`${bundled}, bundled`)
    const system = await versionOf('rg', context)
    if (system) return ok(`${system}, the system’s`)
    return missing('not found; searching is slower without it', `npm install @vscode/ripgrep, or ${install('ripgrep')}`)
  },
}

/** The shell that runs the model's commands. */
export const shell: Check = {
  name: 'shell',
  isEssential: true,
  async run(context) {
    const bash = ['/bin/bash', '/usr/bin/bash'].find((path) => existsSync(path))
    const version = bash && (await versionOf(bash, context))
    if (version) return ok(version.replace(/ Copyright.*/, ''))
    if (existsSync('/bin/sh')) return ok('/bin/sh; models know bash best, so with bash more commands work')
    return broken('there is neither bash nor /bin/sh', 'install bash; on Windows work in WSL: wsl --install')
  },
}

/** The first line that a program prints for `--version`; undefined if it cannot be run. */
function versionOf(program: string, { io, signal }: CheckContext): Promise<string | undefined> {
  return new Promise((resolve) => {
    const options = {
      env: withProgramPath<NodeJS.ProcessEnv>({ ...io.env }, [io.cwd]),
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

/** What this terminal can show. */
export const terminal: Check = {
  name: 'terminal',
  async run({ io: { stdin, stdout, stderr, env } }) {
    const isTerminal = stdout.isTTY === true && stderr.isTTY === true
    const says = [
      isTerminal ? `${stdout.columns ?? 80} columns` : 'the output is not a terminal and is printed plain',
      stdin.isTTY ? 'questions can be asked' : 'stdin is not a terminal, so questions cannot be asked',
      hasColours(stdout, env) ? 'colours' : 'no colours',
      isUtf8(env) ? 'UTF-8' : 'not UTF-8',
    ].join(', ')
    return isUtf8(env) ? ok(says) : missing(says, 'export LC_ALL=C.UTF-8')
  },
}

/** Without a locale, Windows and macOS use UTF-8. */
function isUtf8(env: Readonly<Record<string, string | undefined>>): boolean {
  const locale = env.LC_ALL || env.LC_CTYPE || env.LANG
  if (!locale) return process.platform !== 'linux'
  return /utf-?8/i.test(locale)
}

/** Whether commands run in a sandbox in this folder: builds one, in which a command tries to get out. */
export const sandbox: Check = {
  name: 'sandbox',
  async run({ io: { cwd }, config }) {
    const { sandboxHere } = await import('../policy/sandbox-here.ts')
    const { profiles, by, why = '' } = await sandboxHere(cwd, (await config).sandbox)
    return profiles.length > 0 ? ok(`${by}: a command that tried to get out was stopped`) : sandboxFinding(why)
  },
}

const useDocker = 'use --context docker to isolate commands'

/** Splits the reason why there is no sandbox into what is wrong and how to fix it. */
export function sandboxFinding(why: string): Finding {
  if (why === 'it was switched off') return missing(why, 'libero config unset sandbox')
  const border = ['. ', '; ', ': '].find((one) => why.includes(one)) ?? '. '
  const [says = '', ...steps] = why.split(border)
  const fix = steps.join(border).replace(/^Nothing was run[.;]? ?/, '')
  const isMissing = /^There is no |^Windows /.test(why)
  return (isMissing ? missing : broken)(says, fix || useDocker)
}

/** Whether `--context docker` works: the package is installed, and the engine answers on its socket. */
export const docker: Check = {
  name: 'docker',
  async run({ io, signal }) {
    const { DOCKER_HOST: host } = io.env
    if (host && !host.startsWith('unix://'))
      return ok(`DOCKER_HOST is ${host}; it may be another machine, so it was not contacted`)
    const sockets = host
      ? [host.slice('unix://'.length)]
      : ['/var/run/docker.sock', join(io.userHome, '.docker/run/docker.sock')]
    const answers = await Promise.all(sockets.map((socketPath) => ping(socketPath, signal)))
    const at = sockets.find((_, i) => answers[i] === 'ok')
    if (at === undefined && answers.includes('EACCES'))
      return broken('you have no permission to use its socket', 'sudo usermod -aG docker $USER, then log in again')
    if (at === undefined)
      return missing(
        'no engine answers',
        'install and start Docker (docker info must work), from https://docs.docker.com/engine/install',
      )
    return (await hasDockerode())
      ? ok(`it answers at ${at}`)
      : missing('the package dockerode is not installed', 'npm install dockerode')
  },
}

async function hasDockerode(): Promise<boolean> {
  try {
    await import('dockerode') // in a `try`: see loadDockerode
    return true
  } catch {
    return false
  }
}

/** `ok`, or the error code. */
function ping(socketPath: string, signal: AbortSignal): Promise<string> {
  return new Promise((resolve) => {
    const asked = request({ socketPath, path: '/_ping', signal, timeout: 3000 }, (response) => {
      response.resume()
      resolve(response.statusCode === 200 ? 'ok' : `HTTP ${response.statusCode}`)
    })
    asked.on('timeout', () => asked.destroy(new Error('it took too long')))
    asked.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
    asked.end()
  })
}
