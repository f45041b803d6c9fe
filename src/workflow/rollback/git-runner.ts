import type { ExecutionContext, ExecutionHandle } from '../../core/execution.ts'

/** Git in a POSIX shell, in the execution context of an agent's tools. */
export interface GitRunnerOptions {
  readonly execution: Pick<ExecutionContext, 'exec'>
  readonly handle: ExecutionHandle
  /** Default: the folder of the handle. */
  readonly folder?: string
  /** For each command, in milliseconds. Default 120,000. */
  readonly timeoutMs?: number
}

/** Runs a script in the folder after `prelude`, and returns its output. */
export interface GitRunner {
  run(script: string, options?: { input?: string | Uint8Array; signal?: AbortSignal | undefined }): Promise<string>
}

/** No snapshot can be taken here. */
export class SnapshotsUnavailableError extends Error {}

/** Git was ended at its time limit; another try would be too. */
export class GitTimeoutError extends SnapshotsUnavailableError {}

export function createGitRunner({ execution, handle, folder, timeoutMs = 120_000 }: GitRunnerOptions): GitRunner {
  return {
    async run(script, { input = '', signal } = {}) {
      const printed = { stdout: '', stderr: '' }
      const result = await execution.exec(handle, prelude + script, {
        ...(folder !== undefined && { cwd: folder }),
        input,
        timeout: timeoutMs,
        ...(signal && { signal }),
        onOutput(text, from) {
          if (printed[from].length < mostOutput) printed[from] += text
        },
      })
      signal?.throwIfAborted()
      const stdout = printed.stdout + result.stdout
      const said = (printed.stderr + result.stderr).trim().slice(0, 2000)
      if (result.timedOut)
        throw new GitTimeoutError(
          `git took longer than ${timeoutMs} ms; choose a smaller folder, or a higher timeoutMs`,
        )
      const unavailable = /^\/\/unavailable (.*)/m.exec(stdout)
      if (unavailable) throw new SnapshotsUnavailableError(unavailable[1]!.slice(0, 2000))
      if (result.exitCode !== 0)
        throw new SnapshotsUnavailableError(`git failed: ${said || `exit code ${result.exitCode}`}`)
      if (stdout.length >= mostOutput)
        throw new SnapshotsUnavailableError('git printed too much; choose a smaller folder')
      return stdout
    },
  }
}

const mostOutput = 64 * 1024 * 1024

/**
 * A git folder of our own inside that of the repository, with its own configuration, index and attributes: no hook, filter,
 * monitor or line ending rule of the repository applies, and its HEAD and index are not changed. Objects are shared, so
 * that committed files are not stored twice.
 */
const prelude = String.raw`
set -eu
for name in GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_OBJECT_DIRECTORY GIT_ALTERNATE_OBJECT_DIRECTORIES GIT_COMMON_DIR \
  GIT_NAMESPACE GIT_PREFIX GIT_CONFIG GIT_CONFIG_COUNT GIT_CONFIG_PARAMETERS GIT_ATTR_SOURCE GIT_EXTERNAL_DIFF \
  GIT_GLOB_PATHSPECS GIT_NOGLOB_PATHSPECS GIT_ICASE_PATHSPECS GIT_TRACE GIT_TRACE_SETUP CDPATH; do unset $name; done
export LC_ALL=C GIT_OPTIONAL_LOCKS=0 GIT_TERMINAL_PROMPT=0 GIT_LITERAL_PATHSPECS=1
unavailable() { printf '//unavailable %s\n' "$(printf %s "$1" | tr '\n' ' ')"; exit 0; }
cd -P . 2>/dev/null || unavailable 'the folder cannot be entered'
command -v git >/dev/null 2>&1 || unavailable 'git is not installed; install it for rollback'
user() { git -c core.fsmonitor=false -c core.hooksPath=/dev/null -c core.quotePath=true "$@"; }
facts=$(user rev-parse --is-inside-work-tree --show-toplevel --git-path objects --git-path libero \
  --git-path info/exclude --show-prefix --is-inside-work-tree 2>&1) || {
  [ "$(user rev-parse --is-inside-work-tree 2>/dev/null)" != false ] ||
    unavailable 'this folder is in a git repository without files (bare, or inside .git)'
  unavailable "this folder is in no git repository that can be used; run git init for rollback. git said: $facts"
}
{ read -r inside; read -r top; read -r objects; read -r base; read -r excludes; read -r prefix; read -r again; } <<end
$facts
end
[ "$inside $again" = 'true true' ] || unavailable 'the path of the repository has a line break; rename its folder'
folder=$PWD
case $objects in /*) ;; *) objects=$PWD/$objects ;; esac
case $base in /*) ;; *) base=$PWD/$base ;; esac
private=$base/$(printf %s "$folder" | user hash-object --stdin)
# A file named commondir in our folder would make git read its settings from elsewhere.
ours() { GIT_DIR=$private GIT_COMMON_DIR=$private GIT_WORK_TREE=$folder GIT_OBJECT_DIRECTORY=$objects GIT_INDEX_FILE=$index git "$@"; }
listing() { GIT_DIR=$private GIT_COMMON_DIR=$private GIT_WORK_TREE=$top GIT_OBJECT_DIRECTORY=$objects GIT_INDEX_FILE=$private/none git "$@"; }
setup() {
  # A foreign repository may have a link here that leads out of it, or a pipe that would block.
  odd=$(find "$base" ! -type f ! -type d 2>/dev/null | head -n 1)
  [ -z "$odd" ] || unavailable "$odd is neither a file nor a folder; remove it"
  mkdir -p "$private/refs" "$private/objects" "$private/info" 2>/dev/null ||
    unavailable "the folder $private cannot be written"
  format=$(user rev-parse --show-object-format 2>/dev/null || echo sha1)
  {
    printf '[core]\nrepositoryformatversion = 1\nbare = false\nfilemode = true\nsymlinks = true\nquotePath = true\n'
    printf 'hooksPath = /dev/null\nfsmonitor = false\nuntrackedCache = false\nsplitIndex = false\nsafecrlf = false\n'
    printf 'autocrlf = false\nlooseCompression = 1\nlogAllRefUpdates = false\nsparseCheckout = false\n'
    printf '[index]\nsparse = false\n[gc]\nauto = 0\n'
    [ "$format" = sha1 ] || printf '[extensions]\nobjectFormat = %s\n' "$format"
  } >"$private/config.$$" && mv -f "$private/config.$$" "$private/config"
  printf '* -text -ident !filter !eol !working-tree-encoding\n' >"$private/info/attributes"
  if [ -f "$excludes" ]; then cat "$excludes" >"$private/info/exclude"; else : >"$private/info/exclude"; fi
  [ -f "$private/HEAD" ] || printf 'ref: refs/heads/none\n' >"$private/HEAD"
}
`

/** A name in a repository, one character for each byte, as names need not be UTF-8. */
export type GitName = string

/** A name for the input of git: quoted, in ASCII. */
export function quoteName(name: GitName): string {
  return `"${name.replace(/[^ !#-[\]-~]/g, (byte) => `\\${byte.charCodeAt(0).toString(8).padStart(3, '0')}`)}"`
}

/** A name from the output of git, quoted or not. */
export function unquoteName(line: string): GitName {
  if (!line.startsWith('"')) return line
  return line.slice(1, -1).replace(/\\([0-7]{3}|.)/g, (_, code: string) => letters[code] ?? byteOf(code))
}

const letters: Readonly<Record<string, string>> = {
  a: '\x07',
  b: '\b',
  t: '\t',
  n: '\n',
  v: '\v',
  f: '\f',
  r: '\r',
}

const byteOf = (code: string): string => (code.length === 3 ? String.fromCharCode(Number.parseInt(code, 8)) : code)

/** A name as text, or quoted by git's rules if its bytes are no UTF-8. */
export function shownName(name: GitName): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytesOf(name))
  } catch {
    return quoteName(name)
  }
}

/** Names for the input of a program, each ended by a NUL. */
export const nulNames = (names: readonly GitName[]): Uint8Array => bytesOf(names.map((name) => `${name}\0`).join(''))

/** Names from the output of `find … -print0 | od -An -v -tx1`. */
export function hexNames(hex: string): GitName[] {
  const bytes = hex.match(/[0-9a-f]{2}/g) ?? []
  const text = bytes.map((byte) => String.fromCharCode(Number.parseInt(byte, 16))).join('')
  return text
    .split('\0')
    .filter((name) => name !== '')
    .map((name) => name.replace(/^\.\//, ''))
}

function bytesOf(name: string): Uint8Array {
  return Uint8Array.from(name, (byte) => byte.charCodeAt(0))
}

/** The folders above a name, the nearest first. */
export function foldersAbove(name: GitName): GitName[] {
  const above: GitName[] = []
  for (let end = name.lastIndexOf('/'); end > 0; end = name.lastIndexOf('/', end - 1)) above.push(name.slice(0, end))
  return above
}
