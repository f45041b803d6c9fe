import { execFile } from 'node:child_process'
import { existsSync, lstatSync, readlinkSync } from 'node:fs'

/**
 * Bubblewrap with the arguments by which a script of our own sees the system, read-only, and nothing else: no home folder, no
 * processes, no network. What it works on is added to them. It keeps the script from being led elsewhere by links, and does not
 * confine the script itself: for commands of a model there are the sandboxes of `src/execution`.
 */
export type Enclosure = readonly string[]

let found: Promise<Enclosure | undefined> | undefined

/** Undefined if this system builds none, found out by trying. What worked once counts for this process. */
export async function findEnclosure(): Promise<Enclosure | undefined> {
  const trying = (found ??= tryAll())
  const enclosure = await trying.catch((error) => {
    found = undefined
    throw error
  })
  if (!enclosure) found = undefined // it may be installed or permitted meanwhile
  return enclosure
}

async function tryAll(): Promise<Enclosure | undefined> {
  const program = ['/usr/bin', '/bin', '/usr/local/bin'].map((folder) => `${folder}/bwrap`).find(existsSync)
  if (process.platform !== 'linux' || !program) return undefined
  for (const rights of waysToMounts()) {
    const enclosure = [program, ...rights, '--unshare-net', ...devices, ...systemFolders()]
    if (await isClosed(enclosure)) return enclosure
  }
  return undefined
}

/** Outside of a namespace for users root keeps its access to files of others. The right to mount is for `nosymfollow`. */
function waysToMounts(): readonly (readonly string[])[] {
  const asUser = [['--unshare-user', '--cap-add', 'CAP_SYS_ADMIN'], ['--unshare-user']]
  return process.getuid?.() === 0 ? [[], ...asUser] : asUser
}

const devices = ['/dev/null', '/dev/urandom'].flatMap((path) => ['--dev-bind-try', path, path])

/** Where systems keep their programs and what these load; no settings, and no place where a home folder or a project lies. */
const folders = [
  ...['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32', '/etc/alternatives', '/etc/ld.so.cache'],
  ...['/nix/store', '/gnu/store', '/run/current-system', '/home/linuxbrew/.linuxbrew'],
]

function systemFolders(): string[] {
  return folders.flatMap((path) => {
    const there = lstatSync(path, { throwIfNoEntry: false })
    if (!there) return []
    return there.isSymbolicLink() ? ['--symlink', readlinkSync(path), path] : ['--ro-bind', path, path]
  })
}

/**
 * Whether a script in it starts, and sees no processes: a program of that name may confine nothing. Rejects if it could not be
 * tried: a machine that lacks resources for a moment is not one without enclosures.
 */
function isClosed([program = '', ...args]: Enclosure): Promise<boolean> {
  const script = '[ ! -e /proc/self ] && [ ! -e /dev/shm ] && exit 7'
  return new Promise((resolve, reject) => {
    const child = execFile(program, [...args, '--', '/bin/sh', '-c', script], { env: {}, timeout: 10_000 })
    child.on('error', reject)
    child.on('close', (code, signal) => {
      if (code === null) reject(new Error(`${program} was ended by ${signal} when it was tried`))
      else resolve(code === 7)
    })
  })
}
