import { basename } from 'node:path'
import { type Confinement, resolvePosix } from '../../core/execution.ts'
import { isInside } from '../bubblewrap/protected-paths.ts'
import { namePatterns } from './name-patterns.ts'

/** A command that failed in a sandbox. */
export interface FailedCommand {
  readonly command: string
  /** The end of what it printed, both streams. */
  readonly output: string
}

/** What the sandbox showed to the command. All paths are absolute. */
export interface HintFacts {
  readonly confinement: Confinement
  readonly cwd: string
  readonly home: string
  readonly workspace: readonly string[]
  /** What else it could see of this machine. */
  readonly seen: readonly string[]
  /** Whether a path of the workspace cannot be written. */
  readonly isProtected: (path: string) => boolean
}

/**
 * What of the failure the sandbox may have caused, in words for the model: if the output has the words of a system error
 * together with a path or a host that the sandbox keeps from the command. Otherwise nothing, as most commands fail by themselves.
 */
export function sandboxHint(failed: FailedCommand, facts: HintFacts): string | undefined {
  const reason = stoppedPath(failed, facts) ?? stoppedHost(failed, facts)
  return reason && `[sandbox: ${facts.confinement.profile}] ${reason}`
}

type Judge = (path: string, facts: HintFacts) => string | undefined

/** The words of a system error, and what they mean about a path. */
const errors: readonly (readonly [words: RegExp, judge: Judge])[] = [
  [/read-only file system|\bEROFS\b/i, notWritable],
  [/permission denied|\bEACCES\b|operation not permitted|\bEPERM\b/i, notAllowed],
  [/no such file or directory|\bENOENT\b|does not exist|no such directory/i, notVisible],
  [/device or resource busy|\bEBUSY\b|is a directory|\bEISDIR\b|cannot overwrite directory/i, isKept],
]

const mostLines = 200
/** Some programs print the error and its path on lines of their own. */
const linesAfter = 3

function stoppedPath({ command, output }: FailedCommand, facts: HintFacts): string | undefined {
  const lines = output.split('\n').slice(-mostLines)
  for (const [i, line] of [...lines.entries()].reverse())
    for (const [words, judge] of errors) {
      const at = line.search(words)
      if (at < 0 || /^\W*warn/i.test(line)) continue
      const near = /\bcode:? '?E[A-Z]+\b/.test(line) ? lines.slice(i + 1, i + 1 + linesAfter) : []
      for (const path of [...pathsOf(line, at, command), ...near.flatMap(spelledPaths)]) {
        const reason = judge(absolute(path, facts), facts)
        if (reason !== undefined) return reason
      }
    }
  return undefined
}

/** The paths that an error is about: quoted ones, absolute ones, or the word before it, as in `sh: a.txt: Read-only …`. */
function pathsOf(line: string, at: number, command: string): string[] {
  const program = /^(?:\/\S*\/)?[\w.+-]+: (?:line \d+: |\d+: )?/.exec(line)?.[0].length ?? 0
  const rest = program < at ? line.slice(program) : line
  const [, before = ''] = /(\S+?): (?:cannot \w+: |\[errno \d+\] )?$/i.exec(line.slice(0, at)) ?? []
  // Many words may stand there: a path has a dot or a slash, or is in the command.
  const isPath = /[./]/.test(before) || (before !== '' && command.split(/[\s'"=()>]+/).includes(before))
  return [...spelledPaths(rest), ...(isPath ? [before] : [])]
}

const quotes = /'([^'\n]+)'|"([^"\n]+)"|`([^`'\n]+)[`']|‘([^’\n]+)’/g
const absolutePaths = /(?<![\w./~-])(?:~|\.{1,2})?\/[^\s'"`’:,;()[\]]*[^\s'"`’:,;()[\].]/g

function spelledPaths(text: string): string[] {
  const quoted = [...text.matchAll(quotes)].map((match) => match.slice(1).find((one) => one !== undefined) ?? '')
  return [...quoted, ...(text.match(absolutePaths) ?? [])].filter((path) => path.length < longestPath)
}

const longestPath = 1024

function absolute(path: string, { cwd, home }: HintFacts): string {
  return resolvePosix(cwd, path.replace(/^unix:\/\//, '').replace(/^~(?=\/|$)/, home))
}

function notWritable(path: string, facts: HintFacts): string | undefined {
  const { confinement, workspace } = facts
  if (!isIn(workspace, path))
    return `${path} cannot be written: only ${confinement.profile === 'read-only' ? 'temporary folders' : 'the workspace'} can`
  return confinement.profile === 'read-only' ? 'the workspace is read-only' : isKept(path, facts)
}

function isKept(path: string, { confinement, workspace, isProtected }: HintFacts): string | undefined {
  if (confinement.profile === 'read-only' || !isIn(workspace, path) || !isProtected(path)) return undefined
  return `${path} is protected: it can be read, but not made, changed or moved`
}

function notAllowed(path: string, facts: HintFacts): string | undefined {
  const kept = isKept(path, facts)
  if (kept !== undefined) return kept
  if (isHidden(path, facts.confinement.hidden)) return `${path} is hidden from commands`
  if (/\.(sock|socket|pipe)$|\/docker\.sock|\/S\.gpg-agent/.test(path))
    return `Unix sockets such as ${path} cannot be used`
  return isIn(ownFolders, path) ? undefined : notVisible(path, facts)
}

function isHidden(path: string, hidden: readonly string[]): boolean {
  return isIn(hidden, path) || namePatterns(hidden).matches(path, basename(path))
}

/** Folders of the sandbox itself. */
const ownFolders = ['/tmp', '/var/tmp', '/dev', '/proc']

function notVisible(path: string, { confinement, workspace, seen, home }: HintFacts): string | undefined {
  if (isIn([...workspace, ...seen, ...confinement.reads, ...confinement.writes], path)) return undefined
  if (isIn(['/tmp', '/var/tmp'], path))
    return `${path} is not there: commands share a temporary folder only if they write the workspace and may reach the same`
  if (isIn(['/dev', '/proc'], path)) return undefined
  if (isIn([home], path))
    return confinement.home === 'empty' ? `${path} is not visible: the home folder is empty` : undefined
  return `${path} is not visible: it is outside of what the command can read`
}

function isIn(folders: readonly string[], path: string): boolean {
  return folders.some((folder) => isInside(folder, path))
}

function stoppedHost({ command, output }: FailedCommand, { confinement }: HintFacts): string | undefined {
  if (confinement.hosts === 'any') return undefined
  const found = unreachedHost(output.split('\n').slice(-mostLines).join('\n'), command)
  if (!found) return undefined
  // Whether there is one is not looked up: the hint would tell the command which ports of this machine are open.
  if (found.isLocal)
    return found.port === undefined
      ? undefined
      : `a server at port ${found.port} of this machine, if there is one, cannot be reached: the sandbox has a network of its own`
  if (confinement.hosts.length === 0) return `${found.host} cannot be reached: there is no network`
  return confinement.hosts.includes(found.host)
    ? undefined
    : `${found.host} cannot be reached: only ${confinement.hosts.join(', ')} can`
}

interface UnreachedHost {
  readonly host: string
  /** This machine by a loopback name or address. */
  readonly isLocal: boolean
  readonly port?: number
}

/** The host that a program could not reach, from the words of its error and, if these name none, from the command. */
function unreachedHost(output: string, command: string): UnreachedHost | undefined {
  for (const line of output.split('\n').reverse()) {
    const words = unreached.exec(line)
    if (!words) continue
    const isRefusal = /refused/i.test(words[0])
    const named = hostIn(line) ?? hostIn(output) ?? hostIn(command)
    // Any server may refuse a connection; without a network only those of this machine can be meant.
    if (named && (!isRefusal || named.isLocal)) return named
  }
  return undefined
}

const unreached =
  /could not (?:resolve|translate host name)|unable to resolve|failed to resolve|temporary failure (?:in name resolution|resolving)|name or service not known|nodename nor servname|failed to lookup address|network is unreachable|no route to host|couldn't connect to server|\b(?:ENETUNREACH|EHOSTUNREACH|EAI_AGAIN|ENOTFOUND|ECONNREFUSED)\b|connection refused|server misbehaving|no such host|unknown host|lookup \S+ on \S+/i

/** How programs name a host, most certain first. */
const forms: readonly RegExp[] = [
  /(?:resolve|resolving|resolv(?:e|ing)?) (?:host(?:name)?(?: address)?:? )?[‘'"`]?([\w.-]+\.[\w-]+|localhost)/i,
  /translate host name "([\w.-]+)"/,
  /getaddrinfo \w+ ([\w.-]+)/,
  /lookup ([\w.-]+)(?: on |: )/,
  /(?:connect to|connecting to)(?: host| server at)? [‘'"`]?([\w.-]+|\[[\da-f:]+\])[’'"`]?,?(?:[ :](?:port )?(\d+))?/i,
  /connect E\w+ ([\d.]+|[\da-f:]+):(\d+)/,
  /host='([^']+)', port=(\d+)/,
  /\b(?:https?|ssh|git|ftp|postgres(?:ql)?|redis|mysql|wss?):\/\/(?:[^\s@/]+@)?([\w.-]+|\[[\da-f:]+\])(?::(\d+))?/,
  /^\w+: (?:error: )?(?:tcp:\/\/)?([\w-]+(?:\.[\w-]+)+|localhost)(?:: |:(\d+))/,
  /[\w.-]+@([\w-]+(?:\.[\w-]+)+):/,
  /\b(localhost|127\.0\.0\.1)[: ](\d+)/,
  /\/dev\/tcp\/([\w.-]+)\/(\d+)/,
]

function hostIn(text: string): UnreachedHost | undefined {
  for (const form of forms) {
    const [, host, port] = form.exec(text) ?? []
    if (host === undefined || /^\d+$/.test(host)) continue
    const isLocal = /^(localhost|127\.|::1$|\[::1\]$|0\.0\.0\.0$)/.test(host)
    return { host, isLocal, ...(port !== undefined && { port: Number(port) }) }
  }
  return undefined
}
