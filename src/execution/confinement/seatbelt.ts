import { dirname } from 'node:path'
import type { Confinement } from '../../core/execution.ts'
import { isInside } from '../bubblewrap/protected-paths.ts'
import type { SandboxFacts } from './profile.ts'

/** What a sandbox of macOS shows. All paths are real and absolute: the kernel compares the real path of a file. */
export interface SeatbeltFacts extends SandboxFacts {
  /** A folder that belongs to the command alone. */
  readonly temporary: string
  /** Where it writes: the workspace, and the git folder that belongs to it. */
  readonly writable: readonly string[]
  /** Paths in there that it must not change, make or move, there or not. */
  readonly kept: readonly string[]
  /** The port of the proxy for its hosts on this machine. */
  readonly proxyPort?: number
}

/**
 * The profile of a command for `sandbox-exec` of macOS. Of the rules that fit, the last one counts. Rules are about paths,
 * so a file that is replaced stays covered, and a missing one needs no placeholder.
 */
export function seatbeltProfile(confinement: Confinement, facts: SeatbeltFacts): string {
  const writes = confinement.profile === 'workspace-write' ? [...facts.writable, ...confinement.writes] : []
  const own = facts.seen.filter(({ how }) => how === 'write').map(({ path }) => path)
  const reads = facts.seen.filter(({ how }) => how === 'read').map(({ path }) => path)
  const links = facts.seen.filter(({ how }) => how === 'link').map(({ path }) => path)
  const shown = [...reads, ...facts.workspace, ...writes, ...own, ...confinement.reads, facts.temporary]
  const kept = confinement.profile === 'workspace-write' ? facts.kept : []
  const hidden = [
    ...facts.secrets.map(({ path }) => path).filter((path) => !confinement.reads.includes(path)),
    ...facts.hidden.map(({ path }) => path),
  ]
  const patterns = confinement.hidden.filter((pattern) => pattern.includes('*'))
  return [
    base,
    section('What it needs to find the way to the files below', [
      rule('allow file-read*', literals([...links, ...darwinLinks])),
      rule('allow file-read-metadata', literals(ancestorsOf([...shown, ...links, ...darwinLinks]))),
    ]),
    section('What it can read', [rule('allow file-read*', subpaths(shown))]),
    section('What it can write', [rule('allow file-write*', subpaths([...writes, ...own, facts.temporary]))]),
    section('What it cannot change or make, nor move with a folder above it', [
      rule('deny file-write*', [...subpaths(kept), ...kept.map(anyCase)]),
      rule('deny file-write-unlink', literals([...writes, ...foldersAbove(kept, writes)])),
    ]),
    section('What it cannot read', [
      rule('deny file-read* file-write*', [
        ...subpaths(hidden),
        ...hidden.map(anyCase),
        ...patterns.map(patternFilter),
      ]),
      rule('deny file-write-unlink', literals(foldersAbove(hidden, writes))),
    ]),
    network(confinement.hosts, facts.proxyPort),
  ]
    .filter((part) => part !== '')
    .join('\n')
}

/**
 * No keychain, no LaunchServices (which would start programs outside), no Apple events, no sockets of services, no
 * hard links (a second name for a protected file), no terminals. Since macOS 26 programs do not start without `/` itself.
 */
const base = `(version 1)
(deny default)
(allow process-exec)
(allow process-fork)
(allow process-info* (target same-sandbox))
(allow signal (target same-sandbox))
(allow sysctl-read)
(allow ipc-posix-sem)
(allow ipc-posix-shm-read* (ipc-posix-name "apple.shm.notification_center"))
(allow mach-lookup
  (global-name "com.apple.system.notification_center")
  (global-name "com.apple.system.opendirectoryd.libinfo")
  (global-name "com.apple.system.opendirectoryd.membership"))
(allow file-read* (literal "/"))
(allow file-read* file-write-data file-ioctl
  (literal "/dev/null")
  (literal "/dev/zero")
  (literal "/dev/dtracehelper"))
(allow file-read*
  (literal "/dev/random")
  (literal "/dev/urandom"))
(allow file-read* file-write-data (subpath "/dev/fd"))
`

/** Folders of the system that are links into `/private`. */
const darwinLinks = ['/etc', '/tmp', '/var']

/** The certificates and names of hosts come from services of the system. */
const networkServices = `(allow system-socket)
(allow mach-lookup
  (global-name "com.apple.SystemConfiguration.configd")
  (global-name "com.apple.SystemConfiguration.DNSConfiguration")
  (global-name "com.apple.networkd")
  (global-name "com.apple.trustd.agent"))
`

function network(hosts: Confinement['hosts'], proxyPort: number | undefined): string {
  if (hosts === 'any')
    return `; The network of this machine, without the sockets of its services\n${networkServices}(allow network-outbound
  (remote ip "*:*")
  (literal "/private/var/run/mDNSResponder"))
(allow network-bind network-inbound (local ip "*:*"))
`
  if (hosts.length === 0 || proxyPort === undefined) return ''
  return `; The proxy, which connects to the allowed hosts alone\n${networkServices}(allow network-outbound (remote ip "localhost:${proxyPort}"))\n`
}

function section(title: string, rules: readonly string[]): string {
  const present = rules.filter((one) => one !== '')
  return present.length === 0 ? '' : `; ${title}\n${present.join('\n')}\n`
}

/** Without a filter a rule would count for everything. */
function rule(head: string, filters: readonly string[]): string {
  const each = [...new Set(filters)]
  return each.length === 0 ? '' : `(${head}\n${each.map((one) => `  ${one}`).join('\n')})`
}

const literals = (paths: readonly string[]): string[] => paths.map((path) => `(literal ${quoted(path)})`)
const subpaths = (paths: readonly string[]): string[] => paths.map((path) => `(subpath ${quoted(path)})`)

function quoted(path: string): string {
  return `"${path.replace(/[\\"]/g, '\\$&')}"`
}

/** File systems of macOS mostly ignore case: `.NPMRC` is `.npmrc`. An existing file is compared by its real name. */
function anyCase(path: string): string {
  const name = path.slice(path.lastIndexOf('/') + 1)
  const letters = name.replace(/[a-z]|[^a-z]/gi, (char) =>
    /[a-z]/i.test(char) ? `[${char.toLowerCase()}${char.toUpperCase()}]` : escaped(char),
  )
  return `(regex #"^${escaped(path.slice(0, path.length - name.length))}${letters}(/.*)?$")`
}

function patternFilter(pattern: string): string {
  return `(regex #"^${pattern.split('*').map(escaped).join('.*')}(/.*)?$")`
}

/** A raw text of the profile language cannot hold a quote; any character in its place denies a little more. */
function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&').replaceAll('"', '.')
}

/** All folders above, as far as `/`. */
function ancestorsOf(paths: readonly string[]): string[] {
  const above = new Set<string>()
  for (const path of paths) for (let at = dirname(path); at !== '/'; at = dirname(at)) above.add(at)
  return [...above].sort()
}

/** The folders between a writable folder and a path in it. */
function foldersAbove(paths: readonly string[], writable: readonly string[]): string[] {
  const above = ancestorsOf(paths).filter((folder) => writable.some((root) => isInside(root, folder)))
  return above.filter((folder) => !paths.some((path) => isInside(path, folder)))
}
