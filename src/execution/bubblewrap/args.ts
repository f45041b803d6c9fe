import type { Protection } from './protected-paths.ts'

/** One sandbox, described by what may be seen and done in it. All paths are real and absolute. */
export interface SandboxLayout {
  /** Where files may be written. */
  readonly roots: readonly string[]
  /** What else must be seen, although it lies in a folder for temporary files. */
  readonly readOnly: readonly string[]
  readonly hidden: readonly HiddenPath[]
  /** Left out where nothing is written: then all of it is read-only. */
  readonly protection?: Protection
  /** What stands for the folders for temporary files. */
  readonly temporary: string
  /** Which those are. */
  readonly temporaryAt: readonly string[]
  /** An empty file that nobody may read. */
  readonly nothing: string
  /** Whether it shares the network of this machine; else it has one of its own, without a way out. */
  readonly hostNetwork: boolean
  readonly env: Readonly<Record<string, string>>
  readonly fds: { readonly seccomp: number; readonly status: number }
  /** Whether this bubblewrap can bound the size of what it keeps in memory (from 0.7 on). */
  readonly knowsSize: boolean
}

export interface HiddenPath {
  readonly path: string
  readonly isFolder: boolean
}

/** The arguments that make bubblewrap build it. */
export function bubblewrapArgs(layout: SandboxLayout): string[] {
  const { hostNetwork, env, fds } = layout
  const ofSize = (bytes: number): string[] => (layout.knowsSize ? ['--size', String(bytes)] : [])
  const memory = (path: string, mode: string, bytes: number): string[] => [
    ...[...ofSize(bytes), '--perms', mode, '--tmpfs', path],
  ]
  return [
    ...['--unshare-user', '--unshare-pid', '--unshare-ipc', '--unshare-uts', '--unshare-cgroup-try'],
    ...(hostNetwork ? [] : ['--unshare-net']),
    ...['--die-with-parent', '--new-session', '--cap-drop', 'ALL', '--hostname', 'sandbox'],
    ...['--ro-bind', '/', '/'],
    // Root without any capability may still write the settings of the kernel.
    ...['--proc', '/proc', '--remount-ro', '/proc'],
    ...['--dev', '/dev', ...memory('/dev/shm', '1777', sharedMemory), '--remount-ro', '/dev'],
    // The sockets, pipes and secrets of everything that runs on this machine.
    ...memory('/run', '0755', small),
    ...seenInRun.flatMap((path) => ['--ro-bind-try', path, path]),
    ...mountsOf(layout).flatMap(({ path, how }) => {
      if (how === 'write') return ['--bind', path, path]
      if (how === 'read') return ['--ro-bind', path, path]
      if (how === 'temporary') return ['--bind', layout.temporary, path]
      if (how === 'no file') return ['--ro-bind', layout.nothing, path]
      return memory(path, how === 'no folder' ? '0000' : '0555', small)
    }),
    ...['--remount-ro', '/run', '--chdir', '/'],
    '--clearenv',
    ...Object.entries(env).flatMap(([name, value]) => ['--setenv', name, value]),
    ...['--seccomp', String(fds.seccomp), '--json-status-fd', String(fds.status)],
  ]
}

const sharedMemory = 256 * 1024 * 1024
const small = 64 * 1024
/** Where some systems keep their programs, and all of them how names are looked up. */
const seenInRun = [
  ...['/run/current-system', '/run/booted-system', '/run/opengl-driver', '/run/wrappers'],
  ...['/run/systemd/resolve', '/run/NetworkManager/resolv.conf', '/run/resolvconf', '/run/nscd'],
]

interface Mount {
  readonly path: string
  readonly how: 'write' | 'read' | 'temporary' | 'no file' | 'no folder' | 'never'
}

/** Outer folders first, so that what is said of inner ones counts; of two for one path, the later of this list. */
function mountsOf(layout: SandboxLayout): Mount[] {
  const { roots, readOnly, hidden, protection, temporaryAt } = layout
  const all: Mount[] = [
    ...temporaryAt.map((path) => ({ path, how: 'temporary' }) as const),
    ...roots.map((path) => ({ path, how: protection ? 'write' : 'read' }) as const),
    ...(protection?.missing ?? []).map((path) => ({ path, how: 'never' }) as const),
    ...[...readOnly, ...(protection?.existing ?? [])].map((path) => ({ path, how: 'read' }) as const),
    ...hidden.map(({ path, isFolder }) => ({ path, how: isFolder ? 'no folder' : 'no file' }) as const),
  ]
  const lastOfEach = new Map(all.map((mount) => [mount.path, mount]))
  const pinned = protection ? pinsOf(lastOfEach, protection.pinned) : []
  for (const path of pinned) lastOfEach.set(path, { path, how: 'write' })
  return [...lastOfEach.values()].sort((a, b) => depth(a.path) - depth(b.path))
}

/**
 * A folder with a mount in it can be moved, and the next command would find the mount's place empty. What is a mount itself
 * cannot: so every folder on the way to one becomes one, as long as it can be written anyway.
 */
function pinsOf(mounts: ReadonlyMap<string, Mount>, wanted: readonly string[]): Set<string> {
  const pins = new Set<string>()
  for (const path of [...mounts.keys(), ...wanted.map((folder) => `${folder}/.`)])
    for (const folder of foldersAbove(path))
      if (
        !mounts.has(folder) &&
        foldersAbove(folder)
          .map((above) => mounts.get(above))
          .find(Boolean)?.how === 'write'
      )
        pins.add(folder)
  return pins
}

/** The nearest first. */
function foldersAbove(path: string): string[] {
  const names = path.split('/')
  return names.slice(1).map((_, i) => names.slice(0, names.length - 1 - i).join('/') || '/')
}

const depth = (path: string): number => path.split('/').length
