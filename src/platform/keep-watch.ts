import { type ChildProcess, spawn } from 'node:child_process'
import { Socket } from 'node:net'

/** What is to be ended when this process is killed. */
export interface Watch {
  /** A process group that has just begun. */
  add(group: number): void
  /** To be called as soon as all is gone: the number of a group may be given to others. */
  end(): void
}

/**
 * Has a keeper watch: a process that outlives this one for a moment. When this one is killed, and so cannot end what it started, the keeper
 * does. Begin before the process is started: then there is no moment in which it would be missed.
 */
export function keepWatch(): Watch {
  const watch: { group?: number } = {}
  watches.add(watch)
  if (!running) start()
  return {
    add(group) {
      watch.group = group
      say(`+${group}`)
    },
    end() {
      if (!watches.delete(watch)) return
      if (watch.group !== undefined) say(`-${watch.group}`)
      if (watches.size > 0) return
      say('.')
      running?.child.stdin?.end()
      running = undefined
    },
  }
}

/** In the environment of all that the keeper has to end, so that it also finds what left its process group. */
export const keeperMark: string = crypto.randomUUID()

/** They belong to the process, as its end does; there is one keeper as long as there is something to end. */
const watches = new Set<{ readonly group?: number }>()
let running: { readonly child: ChildProcess; readonly since: number } | undefined

function say(line: string): void {
  running?.child.stdin?.write(`${line}\n`)
}

function start(): void {
  if (process.platform === 'win32') return // no groups there; servers see the end of their input
  const stdio = ['pipe', 'ignore', 'ignore'] as const
  const env = { PATH: process.env.PATH ?? '/usr/bin:/bin' }
  // In a session of its own: no terminal can end it together with us.
  const child = spawn('/bin/sh', ['-c', script, 'libero-keeper', keeperMark], {
    cwd: '/',
    env,
    detached: true,
    stdio: [...stdio],
  })
  running = { child, since: performance.now() }
  child.on('error', () => replace(child))
  child.stdin?.on('error', () => {})
  child.once('exit', () => replace(child))
  child.unref()
  if (child.stdin instanceof Socket) child.stdin.unref()
  for (const { group } of watches) if (group !== undefined) say(`+${group}`)
}

/** One that ends at once would do so again. */
const shortestLifeMs = 1000

function replace(child: ChildProcess): void {
  if (running?.child !== child) return
  const hasLived = performance.now() - running.since > shortestLifeMs
  running = undefined
  if (watches.size > 0 && hasLived) start()
}

/**
 * Reads `+group`, `-group` and `.` (all is well). When its input ends without a dot, this process is gone: groups, and whatever
 * carries the mark, are asked to end, and killed two seconds later. `/proc` is not everywhere; then it is the groups alone.
 */
const script = `trap '' INT HUP QUIT TERM
groups=
while read -r line; do
  case $line in
    .) exit 0 ;;
    +*) groups="$groups \${line#+}" ;;
    -*) rest=
      for g in $groups; do [ "$g" = "\${line#-}" ] || rest="$rest $g"; done
      groups=$rest ;;
  esac
done
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
