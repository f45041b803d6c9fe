import { createHash } from 'node:crypto'
import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'
import { codeOf } from '../core/errors.ts'

/** Identifies a process, even among later ones with the same id. */
export interface ProcessIdentity {
  readonly pid: number
  readonly host: string
  /** The boot id of the machine. Empty if unknown. */
  readonly boot: string
  /** The PID namespace: every container has its own. Empty if unknown. */
  readonly namespace: string
  /** When it started, in ticks since boot. Empty if unknown. */
  readonly started: string
}

/** The identity of this process, by which others can check whether it is still running. */
export function thisProcess(): ProcessIdentity {
  return { pid: process.pid, ...thisLocation(), started: startOf('self')?.started ?? '' }
}

/** Whether a process may still be running. One in another container counts as alive, because its state is unknown. */
export function isAlive(identity: ProcessIdentity): boolean {
  return processState(identity) !== 'dead'
}

/** The state of a process, as far as it can be known here. */
export function processState({ pid, started, ...location }: ProcessIdentity): 'alive' | 'dead' | 'unknown' {
  const here = thisLocation()
  if (location.host !== here.host) return 'unknown'
  if (location.boot !== here.boot) return 'dead'
  if (location.namespace !== here.namespace) return 'unknown'
  if (!isRunning(pid)) return 'dead'
  const now = startOf(pid)
  if (!now) return 'alive'
  return now.hasEnded || (started !== '' && now.started !== started) ? 'dead' : 'alive'
}

function thisLocation(): Pick<ProcessIdentity, 'host' | 'boot' | 'namespace'> {
  const host = hostname()
  if (process.platform !== 'linux') return { host, boot: '', namespace: '' }
  return {
    host,
    boot: orEmpty(() => readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim()),
    namespace: orEmpty(() => readlinkSync('/proc/self/ns/pid')),
  }
}

function orEmpty(read: () => string): string {
  try {
    return read()
  } catch {
    return ''
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return codeOf(error) === 'EPERM' // a process that may not be signalled exists
  }
}

function startOf(pid: number | 'self'): { started: string; hasEnded: boolean } | undefined {
  if (process.platform !== 'linux') return undefined
  const stat = orEmpty(() => readFileSync(`/proc/${pid}/stat`, 'latin1'))
  // The name in brackets may hold any character, so fields are counted from the last bracket: the state is first, the start is the twentieth.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const [state, started] = [fields[0], fields[19]]
  if (!state || !started) return undefined
  return { started, hasEnded: 'ZX'.includes(state) } // a zombie: it ended, and its parent has not reaped it yet
}

/** A part of a file name that says which process made the file. */
export function processMark(): string {
  return `${machine()}-${process.pid}-${crypto.randomUUID().slice(0, 8)}`
}

/** Whether a text has the form of such a mark. */
export const isProcessMark = (text: string): boolean => /^[0-9a-f]{8}-\d+-[0-9a-f]{8}$/.test(text)

/** Whether the process that made a mark is dead; false if it ran on another machine or in another container. */
export function isMarkOfDeadProcess(mark: string): boolean {
  const [, from, pid] = /^([0-9a-f]{8})-(\d+)-/.exec(mark) ?? []
  if (from !== machine()) return false
  try {
    process.kill(Number(pid), 0)
    return false
  } catch (error) {
    return codeOf(error) === 'ESRCH'
  }
}

/** Process ids are only valid on one machine and in one PID namespace. */
function machine(): string {
  return createHash('sha256').update(`${hostname()} ${pidNamespace()}`).digest('hex').slice(0, 8)
}

function pidNamespace(): string {
  try {
    return readlinkSync('/proc/self/ns/pid')
  } catch {
    return '' // not Linux
  }
}
