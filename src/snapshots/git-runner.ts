import { createHash, randomBytes } from 'node:crypto'
import { existsSync, lstatSync, realpathSync } from 'node:fs'
import { homedir } from 'node:os'
import { resolve } from 'node:path'
import { messageOf } from '../core/errors.ts'
import { type ExecutionContext, type ExecutionHandle, shellQuote } from '../core/execution.ts'
import { type Enclosure, findEnclosure } from '../platform/enclosure.ts'
import { placeholderMark } from '../platform/placeholder-mark.ts'
import { safeGitEnv } from '../platform/safe-git.ts'
import { enterScript, insideScript } from './enclosed-script.ts'
import { readingScript, repositoryScript } from './read-repository.ts'

/** Git in a POSIX shell, in the execution context of an agent's tools. */
export interface GitRunnerOptions {
  readonly execution: Pick<ExecutionContext, 'exec'> & Partial<Pick<ExecutionContext, 'type' | 'capabilities'>>
  readonly handle: ExecutionHandle
  /** Default: the folder of the handle. */
  readonly folder?: string
  /** Where snapshots are kept, an absolute path in the execution context. Default: `.libero/snapshots` in the home folder there. */
  readonly store?: string
  /** Patterns of files to leave out, as in a `.gitignore`; `!pattern` includes what a `.gitignore` leaves out. */
  readonly exclude?: readonly string[]
  /** For each command, in milliseconds. Default 120,000. */
  readonly timeoutMs?: number
}

/** Runs a script in the folder after `prelude`, and returns its output. */
export interface GitRunner {
  run(script: string, options?: ScriptOptions): Promise<string>
}

interface ScriptOptions {
  readonly input?: string | Uint8Array
  readonly signal?: AbortSignal | undefined
  /** Whether it changes files in the folder. */
  readonly writes?: boolean
}

/** No snapshot can be taken here. */
export class SnapshotsUnavailableError extends Error {}

/** Git was ended at its time limit; another try would be too. */
export class GitTimeoutError extends SnapshotsUnavailableError {}

export function createGitRunner(options: GitRunnerOptions): GitRunner {
  const { execution, handle, folder, timeoutMs = 120_000 } = options
  const path = folder ?? handle.cwd
  const key = createHash('sha256').update(path).digest('hex').slice(0, 40)
  const settings = settingsOf(options)
  const place = `${placeOf(options)}private=$store/${key}\n`

  /** The whole script, in an enclosure if there is one. */
  function textOf(script: string, writes: boolean, enclosure: Enclosure | undefined): string {
    const outside = `${place}${prelude}${readingScript}${repositoryScript}`
    if (!enclosure) return `${outside}${settings}${functions}${script}`
    const inside = `${helpers}${insideScript(sameFolder(), writes)}${readingScript}${settings}${functions}${script}`
    return outside + enterScript({ enclosure, inside, writes, at: `/.${randomBytes(16).toString('hex')}` })
  }

  /** A command in a folder above could replace the folder by a link: what it was first stays. */
  let real: string | undefined
  function sameFolder(): string {
    const named = resolve(handle.cwd, path)
    if (!existsSync(named)) return '' // it cannot be entered
    const now = realpathSync(named)
    real ??= now
    if (now !== real)
      throw new SnapshotsUnavailableError(
        `${named} is a link now, and leads elsewhere than before; put the folder back`,
      )
    const { dev, ino } = lstatSync(now, { bigint: true })
    return `${dev}:${ino}`
  }

  return {
    async run(script, { input = '', signal, writes = false } = {}) {
      if (execution.capabilities?.shell === false)
        throw new SnapshotsUnavailableError(
          `the execution context "${execution.type}" runs no commands; snapshots need a POSIX shell and git where the tools run`,
        )
      // The script would find that too, but two processes cost as much as all that a short run does.
      if (execution.type === 'process') refuseWholeHome(path)
      const printed = { stdout: '', stderr: '' }
      // Elsewhere all commands run where these scripts run, and see and reach the same.
      const enclosure = execution.type === 'process' ? await enclosureHere() : undefined
      const result = await execution.exec(handle, textOf(script, writes, enclosure), {
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
        throw new SnapshotsUnavailableError(
          said.startsWith('bwrap: ') ? notEnclosed(said) : `git failed: ${said || `exit code ${result.exitCode}`}`,
        )
      if (stdout.length >= mostOutput)
        throw new SnapshotsUnavailableError('git printed too much; choose a smaller folder')
      return stdout
    },
  }
}

/** Without one, links could lead a script elsewhere. */
const enclosureHere = (): Promise<Enclosure | undefined> =>
  findEnclosure().catch((error) => {
    throw new SnapshotsUnavailableError(notEnclosed(messageOf(error)))
  })

const notEnclosed = (why: string): string =>
  `the sandbox in which files are kept and restored could not be built, and nothing was done: ${why}; try again, and see libero doctor`

const mostOutput = 64 * 1024 * 1024

function refuseWholeHome(folder: string): void {
  const real = existsSync(folder) ? realpathSync(folder) : folder
  if (real === '/' || real === homedir()) throw new SnapshotsUnavailableError(tooLarge(real))
}

const tooLarge = (folder: string): string =>
  `snapshots of the whole folder ${folder} would be too large; work in a folder of a project`

/** Where snapshots are kept. */
export function placeOf({ store }: Pick<GitRunnerOptions, 'store'>): string {
  if (store !== undefined && !store.startsWith('/'))
    throw new TypeError(`the folder for snapshots must be an absolute path, got "${store}"`)
  return `
home=\${HOME:-/}
store=${store === undefined ? '"$home/.libero/snapshots"' : shellQuote(store)}
`
}

/** Which files are kept. */
function settingsOf({ exclude = [] }: Pick<GitRunnerOptions, 'exclude'>): string {
  const patterns = exclude.map((pattern) => `-x ${shellQuote(pattern)}`).join(' ')
  const rules = `--exclude-standard -x '.libero-rollback.*' ${patterns} \${excludes:+-X "$excludes"}`
  return `
others() { atTop -c core.quotePath=false ls-files --others ${rules} --directory "$@" -- .; }
withoutPlaceholders() { xargs -0 -n 1000 sh -c '${withoutPlaceholders}' sh; }
othersIn() { unknownOf ${rules}; }
unknownOf() (
  export GIT_DIR="$private" GIT_COMMON_DIR="$private" GIT_WORK_TREE="$top" GIT_INDEX_FILE="$private/index"
  xargs -0 git ls-files --others "$@" -z --
)
`
}

/** Git names a folder without files, and not the folders in it; they are added. */
const withoutPlaceholders = `
within() {
  for f in "$1"*/ "$1".[!.]*/ "$1"..?*/; do
    if [ -d "$f" ] && [ ! -L "\${f%/}" ]; then printf "%s\\0" "\${f#./}"; within "$f"; fi
  done
}
for p; do
  case $p in */) for mark in "./\${p}${placeholderMark}"*; do [ ! -d "$mark" ] || continue 2; done ;; esac
  printf "%s\\0" "$p"
  case $p in */) [ -n "$(find "./$p" ! -type d -print -quit 2>/dev/null)" ] || within "./$p" ;; esac
done`

const safeVariables = Object.entries(safeGitEnv).map(([name, value]) => `${name}=${value}`)

const helpers = String.raw`unavailable() { printf '//unavailable %s\n' "$(printf %s "$1" | tr '\n' ' ')"; exit 0; }
makePrivate() {
  (umask 077 && mkdir -p "$private/refs" "$private/objects" "$private/info") 2>/dev/null || return 1
  case $(cd -P "$private" && pwd)/ in "$folder"/*) unavailable "the folder for snapshots, $store, is inside of this folder; choose another one" ;; esac
}
`

/** Sets up what finds the repository around the folder. */
const prelude = String.raw`
set -eu
for name in GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_OBJECT_DIRECTORY GIT_ALTERNATE_OBJECT_DIRECTORIES GIT_COMMON_DIR \
  GIT_NAMESPACE GIT_PREFIX GIT_CONFIG GIT_CONFIG_COUNT GIT_CONFIG_PARAMETERS GIT_ATTR_SOURCE GIT_EXTERNAL_DIFF \
  GIT_GLOB_PATHSPECS GIT_NOGLOB_PATHSPECS GIT_ICASE_PATHSPECS GIT_TRACE GIT_TRACE_SETUP CDPATH; do unset $name; done
export ${safeVariables.join(' ')}
${helpers}cd -P . 2>/dev/null || unavailable 'the folder cannot be entered'
command -v git >/dev/null 2>&1 || unavailable 'git is not installed; install it to be able to restore files'
folder=$PWD
case $folder in / | "$home") unavailable "${tooLarge('$folder')}" ;; esac
case $store/ in /.libero/* | "$folder"/*) unavailable "the folder for snapshots, $store, is inside of this folder; choose another one" ;; esac
`

/**
 * A git folder of our own, outside of the folder and of its repository, with its own objects, configuration, index and
 * attributes: no hook, filter, monitor or line ending rule of the repository applies, and nothing in it is changed. Of the
 * repository around the folder only its ignore rules count, and which files it has although it ignores them.
 */
const functions = String.raw`
index=$private/index
# A file named commondir in our folder would make git read its settings from elsewhere.
ours() { GIT_DIR=$private GIT_COMMON_DIR=$private GIT_WORK_TREE=$folder GIT_INDEX_FILE=$index git "$@"; }
atTop() {
  GIT_DIR=$private GIT_COMMON_DIR=$private GIT_WORK_TREE=$top GIT_INDEX_FILE=$private/index git \
    -c core.splitIndex=$split "$@"
}
# A change is then written beside the index of a large folder, not a whole index twice for each snapshot.
split=false
[ ! -f "$private/split" ] || split=true
hex() { od -An -v -tx1 "$@"; }
# Git makes and removes these folders one by one; to make a folder costs more than to make a file in it.
makeObjectFolders() {
  set --
  for a in 0 1 2 3 4 5 6 7 8 9 a b c d e f; do
    for b in 0 1 2 3 4 5 6 7 8 9 a b c d e f; do set -- "$@" "$private/objects/$a$b"; done
  done
  mkdir -p "$@"
}
setup() {
  [ ! -f "$private/ready.3" ] || return 0
  makePrivate || unavailable "the folder $store cannot be written"
  : >"$private/probe" && ignorecase=false && [ ! -e "$private/PROBE" ] || ignorecase=true
  {
    printf '[core]\nrepositoryformatversion = 0\nbare = false\nfilemode = true\nsymlinks = true\nquotePath = true\n'
    printf 'hooksPath = /dev/null\nfsmonitor = false\nuntrackedCache = false\nsplitIndex = false\nsafecrlf = false\n'
    printf 'autocrlf = false\nlooseCompression = 1\nlogAllRefUpdates = false\nsparseCheckout = false\nignoreCase = %s\n' $ignorecase
    printf 'ignoreStat = false\ntrustctime = true\ncheckStat = default\nprotectNTFS = false\nprotectHFS = false\n'
    printf '[index]\nsparse = false\n[splitIndex]\nsharedIndexExpire = 1.hour.ago\n[gc]\nauto = 0\n[pack]\ncompression = 1\n'
  } >"$private/config"
  printf '* -text -ident !filter !eol !working-tree-encoding\n' >"$private/info/attributes"
  printf 'ref: refs/heads/none\n' >"$private/HEAD"
  printf '%s\n' "$folder" >"$private/folder"
  rm -f "$private/last" "$private/tracked"
  ours read-tree --empty
  makeObjectFolders
  : >"$private/ready.3"
}
locked=
holder=
holderOfLock() { readlink "$private/lock" 2>/dev/null || :; }
unlock() {
  [ -n "$locked" ] || return 0
  [ -n "$holder" ] || holder=$(holderOfLock)
  [ "$holder" != $$ ] || rm -f "$private/lock" "$@"
}
# One script at a time: a link is created in one step, and names the process that holds it. Removes the files that are given.
lock() {
  tries=0
  until ln -s $$ "$private/lock" 2>/dev/null; do
    other=$(holderOfLock)
    if [ -n "$other" ] && ! kill -0 "$other" 2>/dev/null && mv "$private/lock" "$private/lock.$$" 2>/dev/null; then
      # Another one may have taken it meanwhile.
      [ "$(readlink "$private/lock.$$")" = "$other" ] || ln -s "$(readlink "$private/lock.$$")" "$private/lock" 2>/dev/null || :
      rm -f "$private/lock.$$"
      continue
    fi
    tries=$((tries + 1))
    [ $tries -lt 600 ] || unavailable "another process has used the snapshots of this folder for a minute"
    sleep 0.1
  done
  locked=true
  trap unlock EXIT
  for left in "$private"/*.lock "$@"; do
    # An index of its own is that of a script which needs no lock, and may be at work.
    case $left in "$private"/tmp.*) ;; *) [ ! -e "$left" ] || rm -f "$left" ;; esac
  done
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

/** Names from a list that each ends with a NUL, printed by `hex`. */
export function hexNames(hex: string): GitName[] {
  const text = Buffer.from(hex.replace(/\s+/g, ''), 'hex').toString('latin1')
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
