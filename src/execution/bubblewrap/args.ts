import { isInside, isWatchedInGit, type Protection } from './protected-paths.ts'

/** The description of a sandbox. All paths are real and absolute. */
export interface SandboxLayout {
  /** All that there is beside the roots and what else is named here. Default: the whole file system, read-only. */
  readonly base?: readonly Mount[]
  /** Where files may be written. */
  readonly roots: readonly string[]
  /** Further visible paths, which may be in a temporary folder. */
  readonly readOnly: readonly string[]
  readonly hidden: readonly HiddenPath[]
  /** Absent if nothing is written: then everything is read-only. */
  readonly protection?: Protection
  /** The folder that replaces the temporary folders. */
  readonly temporary: string
  /** The temporary folders. */
  readonly temporaryAt: readonly string[]
  /** An empty file without read permission. */
  readonly nothing: string
  /** Whether it shares the network of this machine; else it has an isolated one. */
  readonly hostNetwork: boolean
  readonly env: Readonly<Record<string, string>>
  /** `copies` is the first of as many as there are files to copy. */
  readonly fds: { readonly seccomp: number; readonly status: number; readonly copies: number }
  /** Whether this version of bubblewrap can limit the size of a tmpfs (from 0.7 on). */
  readonly knowsSize: boolean
}

export interface HiddenPath {
  readonly path: string
  readonly isFolder: boolean
}

type MountedPaths = Pick<SandboxLayout, 'base' | 'roots' | 'readOnly' | 'hidden' | 'protection' | 'temporaryAt'>

/** The arguments for bubblewrap. */
export function bubblewrapArgs(layout: SandboxLayout): string[] {
  const { hostNetwork, env, fds } = layout
  const copied = copiedPaths(layout)
  const ofSize = (bytes: number): string[] => (layout.knowsSize ? ['--size', String(bytes)] : [])
  const memory = (path: string, mode: string, bytes: number): string[] => [
    ...[...ofSize(bytes), '--perms', mode, '--tmpfs', path],
  ]
  return [
    ...['--unshare-user', '--unshare-pid', '--unshare-ipc', '--unshare-uts', '--unshare-cgroup-try'],
    ...(hostNetwork ? [] : ['--unshare-net']),
    ...['--die-with-parent', '--new-session', '--cap-drop', 'ALL', '--hostname', 'sandbox'],
    ...(layout.base ? [] : ['--ro-bind', '/', '/']),
    // Root without capabilities could still write kernel settings.
    ...['--proc', '/proc', '--remount-ro', '/proc'],
    ...['--dev', '/dev', ...memory('/dev/shm', '1777', sharedMemory), '--remount-ro', '/dev'],
    // Hides sockets, pipes and secrets of services of this machine.
    ...(layout.base
      ? []
      : [...memory('/run', '0755', small), ...seenInRun.flatMap((path) => ['--ro-bind-try', path, path])]),
    ...mountsOf(layout).flatMap(({ path, how, from = path }) => {
      const copy = copied.indexOf(path)
      if (copy >= 0) return ['--perms', '0644', '--file', String(fds.copies + copy), path]
      if (how === 'write') return ['--bind', path, path]
      if (how === 'read') return ['--ro-bind', from, path]
      if (how === 'temporary') return ['--bind', layout.temporary, path]
      if (how === 'no file') return ['--ro-bind', layout.nothing, path]
      if (how === 'link') return ['--symlink', from, path]
      if (how === 'memory') return memory(path, '1777', large)
      return memory(path, how === 'no folder' ? '0000' : '0555', small)
    }),
    ...['--remount-ro', layout.base ? '/' : '/run', '--chdir', '/'],
    '--clearenv',
    ...Object.entries(env).flatMap(([name, value]) => ['--setenv', name, value]),
    ...['--seccomp', String(fds.seccomp), '--json-status-fd', String(fds.status)],
  ]
}

/** The files that are copied instead of mounted. A program that builds the sandbox gets each as a descriptor, in this order. */
export function copiedPaths(layout: MountedPaths): string[] {
  return mountsOf(layout).flatMap(({ path, isCopied }) => (isCopied ? [path] : []))
}

/** The paths whose mounts are to be held: the roots, and what a command of another sandbox may be able to replace. */
export function heldPaths(layout: MountedPaths): string[] {
  return mountsOf(layout).flatMap(({ path, how, mayMove, from = path }) =>
    mayMove && (how === 'read' || how === 'write') && from === path ? [path] : [],
  )
}

/** The paths that a sandbox keeps from commands, as long as what is there is not replaced. */
interface Covers {
  /** They cannot be read. */
  readonly hidden: readonly string[]
  /** In a root: they cannot be written or made. */
  readonly kept: readonly string[]
  /** In a root: folders that cannot be moved. */
  readonly pinned: readonly string[]
  /** They are missing, and would take effect at once if they were made; no mount can prevent that. */
  readonly absent: readonly string[]
  /** What a command can write, but for temporary folders. */
  readonly written: readonly string[]
  /** All that is mounted. */
  readonly mounted: readonly string[]
}

export function coversOf(layout: MountedPaths): Covers {
  const { roots, protection, temporaryAt } = layout
  const mounts = mountsOf(layout)
  const covers = mounts.filter(({ path }) => !roots.includes(path) && !temporaryAt.includes(path))
  const inRoots = covers.filter(({ path }) => roots.some((root) => isInside(root, path)))
  const pathsOf = (mounts: readonly Mount[], ...hows: Mount['how'][]): string[] =>
    mounts.filter(({ how }) => hows.includes(how)).map(({ path }) => path)
  return {
    hidden: pathsOf(covers, 'no file', 'no folder'),
    kept: protection ? pathsOf(inRoots, 'read', 'never') : [],
    pinned: pathsOf(inRoots, 'write'),
    absent: protection?.watched.filter(isWatchedInGit) ?? [],
    written: protection ? outermost(pathsOf(mounts, 'write')) : [],
    mounted: mounts.map(({ path }) => path),
  }
}

function outermost(paths: readonly string[]): string[] {
  return paths.filter((path) => !paths.some((other) => other !== path && isInside(other, path)))
}

const sharedMemory = 256 * 1024 * 1024
const small = 64 * 1024
const large = 1024 * 1024 * 1024
/** Programs of some systems, and the name resolution of all. */
export const seenInRun: readonly string[] = [
  ...['/run/current-system', '/run/booted-system', '/run/opengl-driver', '/run/wrappers'],
  ...['/run/systemd/resolve', '/run/NetworkManager/resolv.conf', '/run/resolvconf', '/run/nscd'],
]

/** Something at a path of the sandbox. `memory`: a folder that can be written and is gone with the sandbox. */
export interface Mount {
  readonly path: string
  readonly how: 'write' | 'read' | 'temporary' | 'memory' | 'link' | 'no file' | 'no folder' | 'never'
  /** The file that is read there, or the target of the link. Default: the same path. */
  readonly from?: string
  /** A command of another sandbox may be able to replace it: it is looked at whether the mount is of what was meant. */
  readonly mayMove?: true
  /** A small file of the system. The sandbox has a copy in memory, which is made several times faster than a mount. */
  readonly isCopied?: boolean
}

/** Outer folders first, so that inner mounts take effect; for the same path the later one in this list wins. */
function mountsOf(layout: MountedPaths): Mount[] {
  const { base = [], roots, readOnly, hidden, protection, temporaryAt } = layout
  const outer: Mount[] = [
    ...base,
    ...temporaryAt.map((path) => ({ path, how: 'temporary' }) as const),
    ...roots.map((path) => ({ path, how: protection ? 'write' : 'read', mayMove: true }) as const),
  ]
  const places = new Map(outer.map((mount) => [mount.path, mount]))
  // What lies in a folder that is empty inside, such as the home folder in a root, would be shown by a mount.
  const isThere = (path: string): boolean => mountAbove(path, places)?.how !== 'memory'
  const all: Mount[] = [
    ...outer,
    ...(protection?.missing ?? []).filter(isThere).map((path) => ({ path, how: 'never' }) as const),
    ...[...readOnly, ...(protection?.existing ?? []).filter(isThere)].map((path) => ({ path, how: 'read' }) as const),
    ...hidden.map(({ path, isFolder }) => ({ path, how: isFolder ? 'no folder' : 'no file' }) as const),
  ]
  const lastOfEach = new Map(all.map((mount) => [mount.path, mount]))
  const pinned = protection ? pinsOf(lastOfEach, protection.pinned) : []
  for (const path of pinned) lastOfEach.set(path, { path, how: 'write' })
  return [...lastOfEach.values()].sort((a, b) => depth(a.path) - depth(b.path))
}

/**
 * A command could move a folder that contains a mount, and the next command would find no protection at the old path. A mount
 * itself cannot be moved, so every writable folder above a mount becomes one too.
 */
function pinsOf(mounts: ReadonlyMap<string, Mount>, wanted: readonly string[]): Set<string> {
  const pins = new Set<string>()
  for (const path of [...mounts.keys(), ...wanted.map((folder) => `${folder}/.`)])
    for (const folder of foldersAbove(path))
      if (!mounts.has(folder) && mountAbove(folder, mounts)?.how === 'write') pins.add(folder)
  return pins
}

/** The mount in which a path lies. */
function mountAbove(path: string, mounts: ReadonlyMap<string, Mount>): Mount | undefined {
  return foldersAbove(path)
    .map((above) => mounts.get(above))
    .find(Boolean)
}

/** The parent folders, nearest first. */
function foldersAbove(path: string): string[] {
  const names = path.split('/')
  return names.slice(1).map((_, i) => names.slice(0, names.length - 1 - i).join('/') || '/')
}

const depth = (path: string): number => path.split('/').length
