import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { setImmediate as breathe, setTimeout as sleep } from 'node:timers/promises'
import { codeOf } from '../core/errors.ts'

/** By what the processes of a command, or of all commands of a handle, are known. */
export interface ProcessTag {
  /** A random text in their environment. */
  readonly mark: string
  /** Their process group, which is their session too. */
  readonly group?: number
  /** What ran before them, and so is none of them. */
  readonly before?: ReadonlySet<number> | undefined
}

export interface EndLeftoversOptions {
  /** Between SIGTERM and SIGKILL. */
  readonly graceMs: number
  /** Names only what has left the group: the group itself was told to end before. */
  readonly escapedOnly?: boolean
}

/** How long we wait for what was killed to be gone. */
const giveUpMs = 2000

/**
 * Ends what is still running, wherever it went, and gives its command lines. On Linux that includes what has left the process
 * group (`setsid`, a double fork); a process that dropped its environment as well is not found. Elsewhere it is the group only.
 */
export function endLeftovers(brand: ProcessTag, options: EndLeftoversOptions): Promise<string[]> {
  return processIds() ? endMarked(brand, options) : endGroup(brand, options)
}

/** Kills at once and without waiting: for the last moment of this process. */
export function killLeftovers(brand: ProcessTag): void {
  if (brand.group !== undefined) send(-brand.group, 'SIGKILL')
  for (const pid of candidates(brand)) if (typeof strayAt(pid, brand) === 'object') send(pid, 'SIGKILL')
}

/** Sends a signal; that the process is gone, or not ours to signal, is no failure. A negative number means a group. */
export function send(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal)
  } catch {
    return false
  }
}

/** The ids of all processes, where the system shows them as files. */
export function processIds(): Set<number> | undefined {
  if (process.platform !== 'linux') return undefined
  try {
    return new Set(readdirSync('/proc').map(Number).filter(Number.isInteger))
  } catch {
    return undefined
  }
}

interface Stray {
  readonly pid: number
  /** Empty when it is on its way out. */
  readonly command: string
  readonly escaped: boolean
}

async function endMarked(brand: ProcessTag, { graceMs, escapedOnly = false }: EndLeftoversOptions): Promise<string[]> {
  const waited = stopwatch()
  const seen = new Map<number, Stray>()
  const end = (stray: Stray): void => {
    const known = seen.get(stray.pid)
    if (!known?.command) seen.set(stray.pid, stray)
    if (waited() >= graceMs) send(stray.pid, 'SIGKILL')
    else if (!known) send(stray.pid, 'SIGTERM')
  }
  for (let pause = 2; (await meet(brand, end)) && waited() < graceMs + giveUpMs; pause = Math.min(pause * 2, 50))
    await sleep(pause)
  const strays = [...seen.values()].filter((stray) => stray.escaped || !escapedOnly)
  return short(strays.flatMap(({ command }) => command || []))
}

/** How long we look when we are never sure, and how often at least. */
const longestLookMs = 100
const fewestLooks = 5

/**
 * Calls back for each stray at once, and says whether there was any. A process that changes under our eyes may have handed over
 * to one that was not listed yet: then we look again.
 */
async function meet(brand: ProcessTag, onStray: (stray: Stray) => void): Promise<boolean> {
  const waited = stopwatch()
  const dead = new Set<number>()
  for (let looks = 1; ; looks++) {
    const { some, unsure } = await look(brand, dead, onStray)
    if (some || !unsure || (looks >= fewestLooks && waited() > longestLookMs)) return some
    await sleep(1)
  }
}

/** So many processes are looked at in one go. */
const slice = 64

/** `dead` remembers what is dead: where nobody collects the dead, they are listed for ever. */
async function look(brand: ProcessTag, dead: Set<number>, onStray: (stray: Stray) => void) {
  let some = false
  let unsure = false
  const pids = candidates(brand).filter((pid) => !dead.has(pid))
  for (const [n, pid] of pids.entries()) {
    if (n % slice === slice - 1) await breathe()
    const seen = strayAt(pid, brand)
    if (seen === undefined) continue
    if (seen === 'dead') dead.add(pid)
    if (seen === 'dead' || seen === 'changing') unsure = true
    else {
      onStray(seen)
      some = true
    }
  }
  return { some, unsure }
}

/** The youngest first: they are the ones that may be gone in a moment. */
function candidates({ before }: ProcessTag): number[] {
  const pids = [...(processIds() ?? [])].filter((pid) => !before?.has(pid) && pid !== process.pid)
  return pids.sort((a, b) => b - a)
}

function strayAt(pid: number, { mark, group }: ProcessTag): Stray | 'dead' | 'changing' | undefined {
  const stat = readOfProcess(pid, 'stat')
  if (!stat) return 'changing'
  // The name before the last bracket may hold anything.
  const [state, parent, pgid, sid] = stat.slice(stat.lastIndexOf(')') + 2).split(' ', 4)
  if (state === 'Z' || state === 'X') return 'dead'
  if (Number(pgid) === group) return { pid, command: commandLine(pid), escaped: false }
  const environ = readOfProcess(pid, 'environ')
  if (Number(sid) === group || environ?.includes(mark)) return { pid, command: commandLine(pid), escaped: true }
  const isOfKernel = pid === 2 || parent === '2'
  return isOfKernel || isSettled(pid, environ) ? undefined : 'changing'
}

/** Whether this environment is one to judge by: it is gone at the end of a process, and not there yet while a program is loaded. */
function isSettled(pid: number, environ: string | undefined): boolean {
  if (environ === '') return commandLine(pid) !== '' && readOfProcess(pid, 'environ') === ''
  return environ !== undefined
}

function commandLine(pid: number): string {
  return (readOfProcess(pid, 'cmdline') ?? '').replace(/[\0\n]+/g, ' ').trim()
}

/** A file of `/proc`. Undefined when the process is gone; `forbidden` when it belongs to another user. */
export function readOfProcess(pid: number, file: 'stat' | 'environ' | 'cmdline'): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8')
  } catch (error) {
    return codeOf(error) === 'EACCES' ? 'forbidden' : undefined
  }
}

async function endGroup(
  { group }: ProcessTag,
  { graceMs, escapedOnly = false }: EndLeftoversOptions,
): Promise<string[]> {
  if (group === undefined || !send(-group, 0)) return []
  const commands = escapedOnly ? [] : await commandsOf(group)
  const waited = stopwatch()
  send(-group, 'SIGTERM')
  for (let pause = 2; send(-group, 0) && waited() < graceMs + giveUpMs; pause = Math.min(pause * 2, 50)) {
    await sleep(pause)
    if (waited() >= graceMs) send(-group, 'SIGKILL')
  }
  return short(commands)
}

/** The command lines of a process group, as `ps` tells them everywhere. */
function commandsOf(group: number): Promise<string[]> {
  return new Promise((resolve) => {
    execFile('ps', ['-A', '-o', 'pgid=,args='], { maxBuffer: 64 * 1024 * 1024 }, (_, stdout) => {
      const lines = stdout.split('\n').map((line) => /^\s*(\d+)\s+(.*)$/.exec(line))
      resolve(lines.flatMap((line) => (Number(line?.[1]) === group ? (line?.[2] ?? []) : [])))
    })
  })
}

function stopwatch(): () => number {
  const started = performance.now()
  return () => performance.now() - started
}

const mostNamed = 50
const longestName = 200

function short(names: readonly string[]): string[] {
  const some = names
    .slice(0, mostNamed)
    .map((name) => (name.length > longestName ? `${name.slice(0, longestName)}…` : name))
  return names.length > mostNamed ? [...some, `… and ${names.length - mostNamed} more`] : some
}
