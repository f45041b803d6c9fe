import { lstatSync, readdirSync, readlinkSync, type Stats } from 'node:fs'
import { join, resolve } from 'node:path'
import { programPath } from '../../platform/program-path.ts'
import { type Mount, seenInRun } from '../bubblewrap/args.ts'
import { isInside } from '../bubblewrap/protected-paths.ts'
import { realPathOf } from '../files/confined-path.ts'

const longestChain = 40

/** The mounts that show a path under its spelling: each link on the way, and where it leads. None if it is missing. */
export function showing(path: string): Mount[] {
  const links: Mount[] = []
  const rest = namesOf(path)
  let at = '/'
  for (let name = rest.shift(); name !== undefined; name = rest.shift()) {
    const next = join(at, name)
    const found = look(next)
    if (!found || links.length > longestChain) return []
    if (!found.isSymbolicLink()) {
      at = next
      continue
    }
    const from = readlinkSync(next)
    links.push({ path: next, how: 'link', from })
    rest.unshift(...namesOf(resolve(at, from)))
    at = '/'
  }
  return [...links, { path: at, how: 'read' }]
}

/** The mounts that show the system: as above, but small files are copied. */
export function showingSystem(): Mount[] {
  return systemPaths()
    .flatMap(showing)
    .map((mount) => (mount.how === 'read' && isSmallFile(mount.path) ? { ...mount, isCopied: true } : mount))
}

/** Copies are kept in memory for each sandbox. */
const mostCopied = 128 * 1024

function isSmallFile(path: string): boolean {
  const found = look(path)
  if (!found?.isFile()) return false
  // Everyone may read it: the copy has no other rights.
  return found.size <= mostCopied && (found.mode & 0o004) !== 0
}

/** The folders of the system with programs and libraries, and the files that these need. Without secrets. */
export function systemPaths(platform: string = process.platform): string[] {
  if (platform === 'darwin') return darwinPaths
  return [...systemFolders, ...seenInRun.filter((path) => !/resol|nscd|NetworkManager/.test(path)), ...etcPaths()]
}

const systemFolders = [
  ...['/usr', '/opt', '/nix', '/gnu/store', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32'],
  '/home/linuxbrew/.linuxbrew',
]

/** Programs, libraries, Homebrew, the developer folder and what `/etc` has without secrets. */
const darwinPaths = [
  ...[
    '/usr',
    '/bin',
    '/sbin',
    '/opt',
    '/nix',
    '/System',
    '/Library/Apple',
    '/Library/Developer',
    '/Library/Frameworks',
  ],
  ...['/Library/Java', '/Library/Perl', '/Library/Ruby', '/Applications/Xcode.app', '/private/var/select'],
  ...['/private/var/db/dyld', '/private/var/db/timezone', '/private/var/db/xcode_select_link'],
  ...[
    'hosts',
    'resolv.conf',
    'services',
    'protocols',
    'shells',
    'paths',
    'paths.d',
    'passwd',
    'group',
    'localtime',
  ].map((name) => `/private/etc/${name}`),
  ...['ssl', 'gitconfig', 'locale', 'man.conf'].map((name) => `/private/etc/${name}`),
]

/** What name resolution needs. */
export const networkPaths: readonly string[] = [
  ...[
    '/etc/resolv.conf',
    '/etc/gai.conf',
    '/run/systemd/resolve',
    '/run/NetworkManager/resolv.conf',
    '/run/resolvconf',
  ],
]

const inEtc = [
  ...['ld.so.cache', 'ld.so.conf', 'ld.so.conf.d', 'ld-musl-x86_64.path', 'ld-musl-aarch64.path'],
  ...['passwd', 'group', 'nsswitch.conf', 'hosts', 'host.conf', 'protocols', 'services', 'shells'],
  ...['localtime', 'timezone', 'locale.alias', 'locale.conf', 'inputrc', 'magic', 'mime.types', 'terminfo', 'fonts'],
  ...['ssl/certs', 'ssl/openssl.cnf', 'ssl/cert.pem', 'ca-certificates', 'ca-certificates.conf', 'crypto-policies'],
  ...['pki/tls/certs', 'pki/tls/cert.pem', 'pki/tls/openssl.cnf', 'pki/ca-trust'],
  ...['alternatives', 'gitconfig', 'os-release', 'debian_version', 'alpine-release', 'redhat-release', 'lsb-release'],
  ...['perl', 'xattr.conf', 'login.defs', 'static', 'profiles'],
]
/** Settings of runtimes, whose folders carry versions in their names. */
const versionedInEtc = /^(java|python|openjdk|ruby|php)/

function etcPaths(): string[] {
  const versioned = namesIn('/etc').filter((name) => versionedInEtc.test(name))
  return [...inEtc, ...versioned].map((name) => `/etc/${name}`)
}

interface Toolchains {
  /** The folders of `PATH` that commands get, as they are spelled. */
  readonly path: readonly string[]
  /** What has to be shown for their programs to work. */
  readonly shown: readonly string[]
}

/** The folders of `PATH` outside of the workspace, in which a project could plant a `grep`. */
export function toolchainsOf(path: string, home: string, workspace: readonly string[]): Toolchains {
  const folders = programPath(path, workspace)
    .filter((folder) => look(realPathOf(folder))?.isDirectory())
    .slice(0, mostFolders)
  return { path: folders, shown: [...new Set(folders.flatMap((folder) => neededFor(folder, home)))] }
}

const mostFolders = 100

/** Below the home folder: what the programs of a toolchain need beside their own folder. Each is without credentials, or these are covered. */
const atHome: Readonly<Record<string, readonly string[]>> = {
  '.cargo': ['.cargo', '.rustup'],
  go: ['go/bin', 'go/pkg/mod'],
  '.local/bin': ['.local/bin', '.local/lib', '.local/pipx', '.local/share/pipx', '.local/share/uv'],
  '.juliaup': ['.juliaup', '.julia/juliaup'],
  ...Object.fromEntries(
    [
      ...['.rustup', '.pyenv', '.rbenv', '.nodenv', '.goenv', '.jenv', '.nvm', '.volta', '.bun', '.deno', '.asdf'],
      ...['.sdkman', '.ghcup', '.opam', '.dotnet', '.elan', 'miniconda3', 'anaconda3', 'miniforge3', 'mambaforge'],
      ...['.local/share/mise', '.local/share/fnm', '.local/share/pnpm', '.local/share/uv', '.nix-profile'],
    ].map((name) => [name, [name]]),
  ),
}

/** Beside a folder of programs that is not known: its libraries, never the whole folder, which may hold credentials. */
const beside = ['lib', 'lib64', 'libexec', 'include', 'share']

function neededFor(folder: string, home: string): string[] {
  const real = realPathOf(folder)
  for (const [name, needed] of Object.entries(atHome))
    if ([folder, real].some((one) => isInside(join(home, name), one)))
      return [folder, ...needed.map((one) => join(home, one))]
  const parent = join(real, '..')
  const isShared = isInside(parent, home) || !/\/s?bin$/.test(real)
  return [folder, ...(isShared ? [] : beside.map((name) => join(parent, name)))]
}

function namesOf(path: string): string[] {
  return path.split('/').filter((name) => name !== '')
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

function look(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false })
  } catch {
    return undefined // a parent is not a folder, or not accessible
  }
}
