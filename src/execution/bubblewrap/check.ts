import { execFile } from 'node:child_process'
import { existsSync, statSync } from 'node:fs'
import { release } from 'node:os'
import { dirname, isAbsolute } from 'node:path'
import { realPathOf } from '../files/confined-path.ts'
import { isInside } from './protected-paths.ts'
import { seccompFilter } from './seccomp.ts'

/** A usable bubblewrap program. */
export interface Bubblewrap {
  readonly path: string
  /** Another one if the program was replaced or changed. */
  readonly stamp: string
  readonly knowsSize: boolean
}

/**
 * This machine, or this workspace, has no sandbox, and will have none until a person changes the system. Any other error says only that
 * it could not be tried.
 */
export class NoSandboxHere extends Error {}

const folders = ['/usr/bin', '/bin', '/usr/local/bin']
const oldest = [0, 5]
/** From this version on it can limit the size of a tmpfs. */
const withSize = [0, 7]

/** Finds bubblewrap in system folders, or checks the given one; refuses one in a folder that commands may write. */
export async function findBubblewrap(named: string | undefined, roots: readonly string[]): Promise<Bubblewrap> {
  if (process.platform !== 'linux')
    throw new NoSandboxHere(
      `The bubblewrap context is for Linux only, and this is ${process.platform}; use a Docker context, a remote sandbox, or the process context (which isolates nothing)`,
    )
  if (!seccompFilter())
    throw new NoSandboxHere(
      `The bubblewrap context has no system call filter for ${process.arch}; use a Docker context or a remote sandbox`,
    )
  const path = named ?? folders.map((folder) => `${folder}/bwrap`).find((candidate) => existsSync(candidate))
  if (path === undefined) throw new NoSandboxHere(`There is no bwrap in ${folders.join(', ')}. ${howToInstall}`)
  if (!isAbsolute(path)) throw new TypeError(`\`bwrap\` must be an absolute path, not "${path}"`)
  if (!existsSync(path)) throw new NoSandboxHere(`There is no ${path}. ${howToInstall}`)
  const root = roots.find((folder) => isInside(folder, realPathOf(path)))
  if (root)
    throw new NoSandboxHere(`${path} lies in ${root}, which commands may write; use one that is out of their reach`)
  for (const folder of roots) checkEntrance(folder)
  const stamp = stampOf(path)
  const version = await knownVersion(path, stamp)
  if (isBefore(version, oldest))
    throw new NoSandboxHere(
      `${path} has version ${version.join('.')}, at least ${oldest.join('.')} is needed. ${howToInstall}`,
    )
  return { path, stamp, knowsSize: !isBefore(version, withSize) }
}

const howToInstall =
  'Nothing was run. Install it with `apt-get install bubblewrap` (Debian, Ubuntu), `dnf install bubblewrap` (Fedora) or `apk add bubblewrap` (Alpine)'

/** The error if bubblewrap could not build the sandbox. */
export function setupProblem(stderr: string): Error {
  const reason =
    stderr
      .trim()
      .split('\n')
      .at(-1)
      ?.replace(/^bwrap: /, '') || 'bubblewrap did not say why'
  const isRefusal = aboutNamespaces.test(reason)
  const advice = isRefusal ? howToPermit : 'See whether what it names is there and may be used by this user'
  const message = `The sandbox could not be built, and nothing was run: ${reason}. ${advice}`
  return isRefusal && !shortages.test(reason) ? new NoSandboxHere(message) : new Error(message)
}

/** Messages of bubblewrap if the kernel refuses namespaces. */
const aboutNamespaces =
  /^(No permissions to creat|Creating new namespace|unshare |setting up [ug]id map|loopback: |Failed to make \/ slave|Can't mount proc |pivot_root)/

/** What the kernel lacks for the moment, such as processes or namespaces; it does not forbid them. */
const shortages =
  /temporarily unavailable|Cannot allocate memory|No space left|ENOSPC|Too many open files|Interrupted system call|Disk quota/i

const howToPermit =
  'If this user may not make user namespaces: `sysctl kernel.unprivileged_userns_clone=1` (Debian), `sysctl user.max_user_namespaces=15000`, `sysctl kernel.apparmor_restrict_unprivileged_userns=0` or an AppArmor profile for bwrap (Ubuntu); inside a container it must be started with the right to (`--security-opt seccomp=unconfined`, or privileged)'

/** Inside the sandbox root has no special rights, and cannot enter folders of other users. */
function checkEntrance(folder: string): void {
  if (process.getuid?.() !== 0) return // then bubblewrap itself reports it
  for (let path = folder; path !== dirname(path); path = dirname(path)) {
    const { uid, gid, mode } = statSync(path, { throwIfNoEntry: false }) ?? { uid: 0, gid: 0, mode: 0 }
    const mayEnter = mode & (process.getgroups?.().includes(gid) ? 0o010 : 0o001)
    if (uid === 0 || mayEnter) continue
    throw new NoSandboxHere(
      `The folder ${path} belongs to another user (uid ${uid}), who gives others no access, and inside a sandbox that applies to root too. Nothing was run. Run this as that user, or give it to root: \`chown -R root ${path}\``,
    )
  }
}

/** Since this kernel processes are counted per user namespace; before, the limit would count all processes of the user. */
const countsApart = [5, 14]

/** Throws if the number of processes in a sandbox cannot be limited. For root a cgroup is used. */
export function checkProcessLimit(kernel = release(), isRoot = process.getuid?.() === 0): void {
  if (isRoot || !isBefore(kernel.split('.').map(Number.parseFloat), countsApart)) return
  throw new Error(
    `The number of processes cannot be limited on Linux ${kernel}, which counts all of this user; ${countsApart.join('.')} or newer is needed. Accept that with \`limits: { processes: 0 }\``,
  )
}

const versions = new Map<string, Promise<number[]>>()

/** Asked once: to start the program for each command would cost as much as the command. */
function knownVersion(path: string, stamp: string): Promise<number[]> {
  const key = `${path}\0${stamp}`
  const version = versions.get(key) ?? versionOf(path)
  versions.set(key, version)
  version.catch(() => versions.delete(key)) // the machine may have lacked resources
  return version
}

function stampOf(path: string): string {
  const { dev, ino, ctimeNs } = statSync(path, { bigint: true })
  return [dev, ino, ctimeNs].join(':')
}

function versionOf(path: string): Promise<number[]> {
  return new Promise((resolve, reject) => {
    execFile(path, ['--version'], { env: {}, timeout: 10_000 }, (error, stdout, stderr) => {
      const [, version] = /(\d+(?:\.\d+)+)/.exec(stdout) ?? []
      if (version) return resolve(version.split('.').map(Number))
      reject(setupProblem(stderr || error?.message || `${path} --version said nothing`))
    })
  })
}

function isBefore(version: readonly number[], wanted: readonly number[]): boolean {
  for (const [i, part] of wanted.entries()) if (version[i] !== part) return (version[i] ?? 0) < part
  return false
}
