import { type ChildProcess, spawn } from 'node:child_process'
import { Socket } from 'node:net'

/** What the keeper ends and removes if this process is killed. */
export interface KeeperRegistration {
  /** Adds the process group of the command once it has started. */
  add(group: number): void
  /** Adds an empty folder that only this process has made, to be removed alone or, if that works, with its parent if that is empty. */
  addFolder(path: string, how: 'alone' | 'with its parent'): void
  /** Adds the real paths of what is to be moved aside if it is there: a command can make it, and programs would obey it. */
  addUnwanted(paths: readonly string[]): void
  /** Must be called as soon as the group is gone, because its id may be reused. */
  end(): void
}

/**
 * Registers a command with the keeper: a shell process that outlives this one briefly. If this process is killed, it cannot
 * end its commands, so the keeper does. Call it before the command is started, so that no moment is uncovered.
 */
export function registerWithKeeper(): KeeperRegistration {
  const registration: Registration = { folders: new Set() }
  registrations.add(registration)
  if (!keeper) start()
  return {
    add(group) {
      registration.group = group
      tellKeeper(`+${group}`)
    },
    addFolder(path, how) {
      const line = how === 'alone' ? `_${path}` : path
      if (path.includes('\n') || registration.folders.has(line)) return // the keeper reads lines
      registration.folders.add(line)
      tellKeeper(line)
    },
    addUnwanted(paths) {
      const lines = paths.filter((path) => !path.includes('\n')).map((path) => `?${path}`)
      for (const line of lines) registration.folders.add(line)
      if (lines.length > 0) tellKeeper(lines.join('\n'))
    },
    end() {
      if (!registrations.delete(registration)) return
      if (registration.group !== undefined) tellKeeper(`-${registration.group}`)
      if (registrations.size > 0) {
        const others = [...registrations].flatMap(({ folders }) => [...folders])
        if (registration.folders.size > 0) tellKeeper(['=', ...others].join('\n'))
        return
      }
      tellKeeper('.')
      keeper?.child.stdin?.end()
      keeper = undefined
    },
  }
}

/** In the environment of every registered command, so that the keeper also finds processes that left their group. */
export const keeperMark: string = crypto.randomUUID()

interface Registration {
  group?: number
  /** As the keeper reads them. */
  readonly folders: Set<string>
}

/** Global, because there is one keeper for each process, while something is registered. */
const registrations = new Set<Registration>()
let keeper: { readonly child: ChildProcess; readonly since: number } | undefined

function tellKeeper(line: string): void {
  keeper?.child.stdin?.write(`${line}\n`)
}

function start(): void {
  if (process.platform === 'win32') return // Windows has no process groups; servers see the end of their input
  const stdio = ['pipe', 'ignore', 'ignore'] as const
  // No project can plant a grep there. The last one is that of NixOS.
  const env = { PATH: '/usr/bin:/bin:/run/current-system/sw/bin' }
  // In a session of its own, so that a terminal does not end it together with this process.
  const child = spawn('/bin/sh', ['-c', script, 'libero-keeper', keeperMark], {
    cwd: '/',
    env,
    detached: true,
    stdio: [...stdio],
  })
  keeper = { child, since: performance.now() }
  child.on('error', () => replace(child))
  child.stdin?.on('error', () => {})
  child.once('exit', () => replace(child))
  child.unref()
  if (child.stdin instanceof Socket) child.stdin.unref()
  for (const { group, folders } of registrations) {
    if (group !== undefined) tellKeeper(`+${group}`)
    for (const line of folders) tellKeeper(line)
  }
}

/** A keeper that ended sooner is not replaced: the next one would end too. */
const minLifeMs = 1000

function replace(child: ChildProcess): void {
  if (keeper?.child !== child) return
  const hasLived = performance.now() - keeper.since > minLifeMs
  keeper = undefined
  if (registrations.size > 0 && hasLived) start()
}

/**
 * Reads `+group`, `-group`, `/folder`, `_/folder`, `?/unwanted`, `=` (no paths so far) and `.` (all is over). If its input ends without a dot, this process was
 * killed: the groups, and all processes with the mark, get SIGTERM and two seconds later SIGKILL; then the folders are
 * removed, and what is unwanted is moved aside, unless a link leads there. Without `/proc` only the groups are ended.
 */
const script = `trap '' INT HUP QUIT TERM
groups= folders=
while IFS= read -r line; do
  case $line in
    .) exit 0 ;;
    =) folders= ;;
    +*) groups="$groups \${line#+}" ;;
    -*) rest=
      for g in $groups; do [ "$g" = "\${line#-}" ] || rest="$rest $g"; done
      groups=$rest ;;
    /* | _* | [?]*) folders="$folders
$line" ;;
  esac
done
clean() {
  printf '%s\\n' "$folders" | while IFS= read -r f; do
    case $f in
      /*) rmdir -- "$f" && rmdir -- "\${f%/*}" ;;
      _*) rmdir -- "\${f#_}" ;;
      [?]*) f=\${f#?}
        [ -e "$f" ] || [ -L "$f" ] || continue
        [ ! -d "$f" ] || ls -A -- "$f" | grep -qv '^held-by-libero-' || continue
        [ "$(cd -P -- "\${f%/*}" && pwd -P)" = "\${f%/*}" ] && mv -- "$f" "$f.replaced-$$" ;;
    esac
  done
} 2>/dev/null
trap clean EXIT
look() {
  targets=
  for g in $groups; do kill -s 0 -- "-$g" && targets="$targets -$g"; done
  for f in $(grep -ls -- "$1" /proc/[0-9]*/environ); do
    p=\${f#/proc/}
    targets="$targets \${p%/environ}"
  done
  [ -n "$targets" ]
} 2>/dev/null
tell() { for t in $targets; do kill -s "$1" -- "$t"; done } 2>/dev/null
look "$1" || exit 0
tell TERM
n=0
while [ $n -lt 10 ] && look "$1"; do sleep 0.2 || sleep 1; n=$((n+1)); done
n=0
while [ $n -lt 10 ] && look "$1"; do tell KILL; sleep 0.1 || sleep 1; n=$((n+1)); done`

/** Global, because it belongs to the process. */
const exitWork = new Set<() => void>()

/** Runs a short function when this process exits. Returns a function that cancels it. */
export function onProcessExit(work: () => void): () => void {
  if (exitWork.size === 0) process.on('exit', runExitWork)
  exitWork.add(work)
  return function cancel() {
    if (exitWork.delete(work) && exitWork.size === 0) process.off('exit', runExitWork)
  }
}

function runExitWork(): void {
  for (const work of exitWork) {
    try {
      work()
    } catch {
      // the error cannot be reported any more, and the other functions must still run
    }
  }
}
