import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, rm, stat, statfs } from 'node:fs/promises'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { messageOf } from '../../core/errors.ts'
import { hasColours } from '../screen/paint.ts'
import { broken, type Check, type CheckContext, type Finding, missing, ok } from './diagnose.ts'

/** Models use it, and so do people who look at what models did. */
export const git: Check = {
  name: 'git',
  async run(at) {
    const version = await versionOf('git', at)
    return version ? ok(version) : missing('there is no git', `install it: ${install('git')}`)
  },
}

/** Our own, which comes with the package where there is one for this machine, else the system's. */
export const ripgrep: Check = {
  name: 'ripgrep',
  async run(at) {
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
  async run(at) {
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
  { io, signal }: Pick<CheckContext, 'io' | 'signal'>,
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

/** The oldest Node that runs this, as `engines` of package.json has it. */
export const oldestNode = '22.18'

/** Whether this Node is new enough. */
export const nodeVersion: Check = {
  name: 'node',
  isEssential: true,
  run: async () => checkNode(process.versions.node),
}

/** The same for any version. */
export function checkNode(version: string): Finding {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const [oldestMajor = 0, oldestMinor = 0] = oldestNode.split('.').map(Number)
  if (major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)) return ok(`Node ${version}`)
  return broken(`Node ${version} is too old`, `install Node ${oldestNode} or newer, from https://nodejs.org`)
}

const minFreeBytes = 100 * 1024 * 1024

/** Room for sessions, and for what tools write into temporary files. */
export const diskSpace: Check = {
  name: 'disk',
  isEssential: true,
  async run({ io: { home } }) {
    const places = await Promise.all([home, tmpdir()].map(async (path) => ({ path, free: await freeAt(path) })))
    const full = places.filter(({ free }) => free < minFreeBytes)
    const says = places.map(({ path, free }) => `${sizeText(free)} free at ${path}`).join(', ')
    return full.length === 0 ? ok(says) : broken(says, `make room at ${full.map(({ path }) => path).join(' and ')}`)
  },
}

async function freeAt(path: string): Promise<number> {
  let place = path
  for (let i = 0; i < 100 && (await stat(place).catch(() => undefined)) === undefined; i++) place = dirname(place)
  const { bavail, bsize } = await statfs(place)
  return bavail * bsize
}

const sizeText = (bytes: number): string =>
  bytes < 10 * 1024 ** 3 ? `${Math.floor(bytes / 1024 ** 2)} MiB` : `${Math.floor(bytes / 1024 ** 3)} GiB`

/** What this terminal can show. */
export const terminal: Check = {
  name: 'terminal',
  async run({ io: { stdin, stdout, stderr, env } }) {
    const isTerminal = stdout.isTTY === true && stderr.isTTY === true
    const says = [
      isTerminal ? `${stdout.columns ?? 80} columns` : 'the output is not a terminal and stays plain',
      stdin.isTTY ? 'questions can be asked' : 'nobody can be asked on stdin',
      hasColours(stdout, env) ? 'colours' : 'no colours',
      isUtf8(env) ? 'UTF-8' : 'not UTF-8',
    ].join(', ')
    return isUtf8(env) ? ok(says) : missing(says, 'export LC_ALL=C.UTF-8')
  },
}

/** Where nothing is said about letters, Windows and macOS have them all. */
function isUtf8(env: Readonly<Record<string, string | undefined>>): boolean {
  const locale = env.LC_ALL || env.LC_CTYPE || env.LANG
  if (!locale) return process.platform !== 'linux'
  return /utf-?8/i.test(locale)
}

/** Whether `--sandbox` works: one is built, and a command is run in it. */
export const sandbox: Check = {
  name: 'sandbox',
  async run({ signal }) {
    if (process.platform !== 'linux')
      return missing('bubblewrap is for Linux only', 'use --context docker for walls around commands')
    const { createBubblewrapContext } = await import('../../execution/bubblewrap.ts')
    const folder = await mkdtemp(join(tmpdir(), 'libero-doctor-'))
    try {
      const context = createBubblewrapContext({ cwd: folder })
      const handle = await context.spawn()
      const { exitCode } = await context.exec(handle, 'exit 7', { signal }).finally(() => context.destroy(handle))
      if (exitCode === 7) return ok('bubblewrap works')
      return broken(`a command in bubblewrap ended with ${exitCode} instead of 7`, 'use --context docker')
    } catch (error) {
      return sandboxFinding(messageOf(error))
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  },
}

/** The context says what to do in its own words, after what is wrong. */
export function sandboxFinding(message: string): Finding {
  const [says = '', ...steps] = message.split('. ')
  const fix = steps.join('. ').replace(/^Nothing was run[.;]? ?/, '')
  const isMissing = /^There is no /.test(message)
  return (isMissing ? missing : broken)(says, fix || 'use --context docker for walls around commands')
}

/** Whether `--context docker` works: the package is there, and the engine answers on its socket. */
export const docker: Check = {
  name: 'docker',
  async run({ io, signal }) {
    const hasPackage = await import('dockerode').then(
      () => true,
      () => false,
    )
    const { DOCKER_HOST: host } = io.env
    if (host && !host.startsWith('unix://'))
      return ok(`DOCKER_HOST is ${host}; it may be another machine, and was not asked`)
    const sockets = host
      ? [host.slice('unix://'.length)]
      : ['/var/run/docker.sock', join(io.userHome, '.docker/run/docker.sock')]
    const answers = await Promise.all(sockets.map((socketPath) => ping(socketPath, signal)))
    const at = sockets.find((_, i) => answers[i] === 'ok')
    if (at === undefined && answers.includes('EACCES'))
      return broken('you may not use its socket', 'sudo usermod -aG docker $USER, then log in again')
    if (at === undefined)
      return missing(
        'no engine answers',
        'install and start Docker (docker info must work), from https://docs.docker.com/engine/install',
      )
    return hasPackage
      ? ok(`it answers at ${at}`)
      : missing('the package dockerode is not there', 'npm install dockerode')
  },
}

/** `ok`, or what the system says. */
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
