import { execFile } from 'node:child_process'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { setImmediate as nextTick, setTimeout as sleep } from 'node:timers/promises'
import { codeOf } from '../core/errors.ts'
import { cutText } from '../core/text.ts'
import { digestOf } from './digest.ts'
import { processState, thisProcess } from './process-identity.ts'
import { programEnv } from './program-path.ts'

/** How the processes of a command, or of all commands of a handle, are recognised. */
export interface ProcessTag {
  /** A random text in their environment. */
  readonly mark: string
  /** Their process group, which is their session too. */
  readonly group?: number
  /** The ids of processes that ran before them. */
  readonly before?: ReadonlySet<number> | undefined
  /** Whether only this process can have started them, so that they are not older than it. */
  readonly isOwn?: boolean
}

export interface EndLeftoversOptions {
  /** Between SIGTERM and SIGKILL. */
  readonly graceMs: number
  /** Returns only processes that left the group: the group itself was signalled before. */
  readonly escapedOnly?: boolean
}

/** How long to wait for killed processes to disappear. */
const giveUpMs = 2000

/**
 * Ends the processes that are still running and returns their command lines. On Linux that includes processes that left the
 * process group (`setsid`, a double fork), unless they also cleared their environment. Elsewhere only the group is ended.
 */
export function endLeftovers(tag: ProcessTag, options: EndLeftoversOptions): Promise<string[]> {
  return processIds() ? endMarked(tag, options) : endGroup(tag, options)
}

/** Kills the processes without waiting, for the exit of this process. */
export function killLeftovers(tag: ProcessTag): void {
  if (tag.group !== undefined) send(-tag.group, 'SIGKILL')
  for (const pid of candidates(tag)) if (typeof leftoverAt(pid, tag) === 'object') send(pid, 'SIGKILL')
}

/** Sends a signal; false if the process is gone or may not be signalled. A negative id means a group. */
export function send(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal)
  } catch {
    return false
  }
}

/** The ids of all processes, if the system has `/proc`. */
export function processIds(): Set<number> | undefined {
  if (process.platform !== 'linux') return undefined
  try {
    return new Set(readdirSync('/proc').map(Number).filter(Number.isInteger))
  } catch {
    return undefined
  }
}

interface Leftover {
  readonly pid: number
  /** Empty if the process is about to end. */
  readonly command: string
  readonly escaped: boolean
}

async function endMarked(tag: ProcessTag, { graceMs, escapedOnly = false }: EndLeftoversOptions): Promise<string[]> {
  const waited = stopwatch()
  const seen = new Map<number, Leftover>()
  const end = (leftover: Leftover): void => {
    const known = seen.get(leftover.pid)
    if (!known?.command) seen.set(leftover.pid, leftover)
    if (waited() >= graceMs) send(leftover.pid, 'SIGKILL')
    else if (!known) send(leftover.pid, 'SIGTERM')
  }
  for (
    let pause = 2;
    (await inspectUntilSure(tag, end)) && waited() < graceMs + giveUpMs;
    pause = Math.min(pause * 2, 50)
  )
    await sleep(pause)
  const leftovers = [...seen.values()].filter(({ escaped }) => escaped || !escapedOnly)
  return shortened(leftovers.flatMap(({ command }) => command || []))
}

/** While a process is changing, `/proc` is inspected again: for this time, and at least this often. */
const maxInspectMs = 100
const minInspections = 5

/**
 * Calls `onLeftover` for each leftover process, and returns whether there was any. A process that changed meanwhile may have
 * started one that was not listed yet: then the list is read again.
 */
async function inspectUntilSure(tag: ProcessTag, onLeftover: (leftover: Leftover) => void): Promise<boolean> {
  const waited = stopwatch()
  const dead = new Set<number>()
  for (let inspections = 1; ; inspections++) {
    const { some, unsure } = await inspect(tag, dead, onLeftover)
    if (some || !unsure || (inspections >= minInspections && waited() > maxInspectMs)) return some
    await sleep(1)
  }
}

/** How many processes are inspected before other work gets its turn. */
export const pidsPerSlice = 64

/** `dead` collects zombies: if their parent never reaps them, they stay listed. */
async function inspect(tag: ProcessTag, dead: Set<number>, onLeftover: (leftover: Leftover) => void) {
  let some = false
  let unsure = false
  const pids = candidates(tag).filter((pid) => !dead.has(pid))
  for (const [n, pid] of pids.entries()) {
    if (n % pidsPerSlice === pidsPerSlice - 1) await nextTick()
    const seen = leftoverAt(pid, tag)
    if (seen === undefined) continue
    if (seen === 'dead') dead.add(pid)
    if (seen === 'dead' || seen === 'changing') unsure = true
    else {
      onLeftover(seen)
      some = true
    }
  }
  return { some, unsure }
}

/** The newest first, because they may end soon. */
function candidates({ before }: ProcessTag): number[] {
  const pids = [...(processIds() ?? [])].filter((pid) => !before?.has(pid) && pid !== process.pid)
  return pids.sort((a, b) => b - a)
}

function leftoverAt(pid: number, { mark, group, isOwn }: ProcessTag): Leftover | 'dead' | 'changing' | undefined {
  const stat = readOfProcess(pid, 'stat')
  if (!stat) return 'changing'
  // The process name in brackets may hold any character, so fields are counted from the last bracket.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ', 20)
  const [state, parent, pgid, sid] = fields
  if (state === 'Z' || state === 'X') return 'dead'
  if (isOwn && Number(fields[19]) < ownStart()) return undefined // its environment need not be read
  if (Number(pgid) === group) return { pid, command: commandLine(pid), escaped: false }
  const environ = readOfProcess(pid, 'environ')
  if (Number(sid) === group || environ?.includes(mark)) return { pid, command: commandLine(pid), escaped: true }
  const isOfKernel = pid === 2 || parent === '2'
  return isOfKernel || isStable(pid, environ) ? undefined : 'changing'
}

let ownTicks: number | undefined

/** When this process started, in ticks since boot; 0 if that is not known. */
function ownStart(): number {
  ownTicks ??= Number(thisProcess().started)
  return ownTicks
}

/** Whether this environment is final: it is empty while a program is loaded and when a process ends. */
function isStable(pid: number, environ: string | undefined): boolean {
  if (environ === '') return commandLine(pid) !== '' && readOfProcess(pid, 'environ') === ''
  return environ !== undefined
}

function commandLine(pid: number): string {
  return (readOfProcess(pid, 'cmdline') ?? '').replace(/[\0\n]+/g, ' ').trim()
}

/** A file of `/proc`. Undefined if the process is gone; `forbidden` if it belongs to another user. */
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
  return shortened(commands)
}

/** The command lines of a process group, from `ps`. */
function commandsOf(group: number): Promise<string[]> {
  return new Promise((resolve) => {
    execFile('ps', ['-A', '-o', 'pgid=,args='], { maxBuffer: 64 * 1024 * 1024, env: programEnv() }, (_, stdout) => {
      const lines = stdout.split('\n').map((line) => /^\s*(\d+)\s+(.*)$/.exec(line))
      resolve(lines.flatMap((line) => (Number(line?.[1]) === group ? (line?.[2] ?? []) : [])))
    })
  })
}

function stopwatch(): () => number {
  const started = performance.now()
  return () => performance.now() - started
}

const maxCommands = 50
const maxCommandLength = 200

function shortened(commands: readonly string[]): string[] {
  const shown = commands.slice(0, maxCommands).map((command) => cutText(command, maxCommandLength))
  return commands.length > maxCommands ? [...shown, `… and ${commands.length - maxCommands} more`] : shown
}

/** The call, and its run, that starts a command. */
export interface CallName {
  readonly runId: string
  readonly callId: string
}

/** The environment variable that holds the mark of a command's call. */
export const callMarkVariable = 'LIBERO_CALL'

/** The mark of a call, with the identity of this process: while it is alive, no other process may end the command. */
export function callMark({ runId, callId }: CallName): string {
  const { pid, started } = thisProcess()
  return `${shortDigest(runId)}-${shortDigest(callId)}-${pid}-${started}`
}

/** The processes of one call that another Libero process left running. */
export interface LeftoverProcesses {
  /** The process that started them. It is dead, or `isEnded` is false. */
  readonly startedBy: number
  readonly isEnded: boolean
  readonly commands: readonly string[]
}

/**
 * Ends the processes that calls of these runs left running on this machine, and returns what they were. Only processes with
 * the mark of such a call are inspected, and only those are ended whose starting process is dead. `undefined` without `/proc`.
 */
export async function endCallProcesses(
  runIds: readonly string[],
): Promise<{ of(callId: string): LeftoverProcesses | undefined } | undefined> {
  if (!processIds()) return undefined
  const runs = new Set(runIds.map(shortDigest))
  const marks = [...(await allMarks())].filter((mark) => runs.has(mark.slice(0, digestLength)))
  const found = await Promise.all(marks.map(async (mark) => [mark.split('-')[1], await endIfOrphaned(mark)] as const))
  const left = new Map(found)
  return { of: (callId) => left.get(shortDigest(callId)) }
}

async function endIfOrphaned(mark: string): Promise<LeftoverProcesses | undefined> {
  const [, , pid, started = ''] = mark.split('-')
  const startedBy = Number(pid)
  const isEnded = processState({ ...thisProcess(), pid: startedBy, started }) === 'dead'
  const commands = isEnded ? await endLeftovers({ mark }, { graceMs }) : []
  return commands.length > 0 || !isEnded ? { startedBy, isEnded, commands } : undefined
}

/** Between SIGTERM and SIGKILL, as at the time limit of a command. */
const graceMs = 2000

let looking: Promise<ReadonlySet<string>> | undefined

/** The marks of calls in all processes. Callers at the same time, such as those of a dead worker's sessions, share one look. */
function allMarks(): Promise<ReadonlySet<string>> {
  looking ??= nextTick().then(() => {
    looking = undefined
    return marksOf(processIds() ?? new Set())
  })
  return looking
}

async function marksOf(pids: ReadonlySet<number>): Promise<Set<string>> {
  const marks = new Set<string>()
  let n = 0
  for (const pid of pids) {
    if (++n % pidsPerSlice === 0) await nextTick()
    const variables = readOfProcess(pid, 'environ')?.split('\0') ?? []
    const value = variables.find((variable) => variable.startsWith(`${callMarkVariable}=`))
    if (value === undefined || !isOfThisNamespace(pid)) continue
    for (const mark of value.slice(callMarkVariable.length + 1).split(' ')) if (form.test(mark)) marks.add(mark)
  }
  return marks
}

/** In another container the id of the starting process means another process. */
function isOfThisNamespace(pid: number): boolean {
  try {
    return readlinkSync(`/proc/${pid}/ns/pid`) === readlinkSync('/proc/self/ns/pid')
  } catch {
    return false
  }
}

const digestLength = 16
const form = /^[0-9a-f]{16}-[0-9a-f]{16}-\d+-\d*$/

function shortDigest(text: string): string {
  return digestOf(text).slice(0, digestLength)
}
