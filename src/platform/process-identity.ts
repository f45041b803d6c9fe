import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'
import { codeOf } from '../core/errors.ts'

/** Tells a process from every other one, also from a later one that was given the same number. */
export interface ProcessIdentity {
  readonly pid: number
  readonly host: string
  /** Which start of the machine. Empty where nobody tells. */
  readonly boot: string
  /** Where process ids are counted: every container counts its own. Empty where nobody tells. */
  readonly namespace: string
  /** When it started, in ticks since the machine did. Empty where nobody tells. */
  readonly started: string
}

/** Who we are, for others to find out later whether we are still there. */
export function thisProcess(): ProcessIdentity {
  return { pid: process.pid, ...thisPlace(), started: startOf('self')?.started ?? '' }
}

/** Whether that process may still be there. Of one in another container nothing is known, so it counts as alive. */
export function isAlive(identity: ProcessIdentity): boolean {
  return fateOf(identity) !== 'dead'
}

/** What can be known about a process that somebody wrote down. */
export function fateOf({ pid, started, ...place }: ProcessIdentity): 'alive' | 'dead' | 'unknown' {
  const here = thisPlace()
  if (place.host !== here.host) return 'unknown'
  if (place.boot !== here.boot) return 'dead'
  if (place.namespace !== here.namespace) return 'unknown'
  if (!isRunning(pid)) return 'dead'
  const now = startOf(pid)
  if (!now) return 'alive'
  return now.hasEnded || (started !== '' && now.started !== started) ? 'dead' : 'alive'
}

function thisPlace(): Pick<ProcessIdentity, 'host' | 'boot' | 'namespace'> {
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
    return codeOf(error) === 'EPERM' // one that we may not signal is there
  }
}

function startOf(pid: number | 'self'): { started: string; hasEnded: boolean } | undefined {
  if (process.platform !== 'linux') return undefined
  const stat = orEmpty(() => readFileSync(`/proc/${pid}/stat`, 'latin1'))
  // The name in brackets may hold anything, so count from the last one: the state comes first, the start twentieth.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const [state, started] = [fields[0], fields[19]]
  if (!state || !started) return undefined
  return { started, hasEnded: 'ZX'.includes(state) } // ended, and its parent has not asked yet
}
