import { accessSync, constants, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { messageOf } from '../../core/errors.ts'
import { send } from '../../platform/leftover-processes.ts'

/** A group of processes that the kernel lets grow to a limit, also for root, whom `ulimit -u` does not hold. */
export interface ProcessCgroup {
  /** Whoever writes 0 into this file belongs to the group, with all it starts. */
  readonly entrance: string
  remove(): Promise<void>
}

/** Needs a system that lets us make such groups: root on a usual one. */
export function createProcessCgroup(most: number, at = '/sys/fs/cgroup'): ProcessCgroup {
  const parent = pidsFolder(at)
  if (!parent) throw problem(`there is no pids controller in ${at} that may be used`)
  removeDead(parent)
  const folder = join(parent, `${prefix}${process.pid}-${crypto.randomUUID().slice(0, 8)}`)
  try {
    mkdirSync(folder)
    writeFileSync(join(folder, 'pids.max'), String(most))
  } catch (error) {
    tryToRemove(folder)
    throw problem(messageOf(error))
  }
  return {
    entrance: join(folder, 'cgroup.procs'),
    async remove() {
      for (let pause = 1; !tryToRemove(folder) && pause < 500; pause *= 2) await sleep(pause)
    },
  }
}

const prefix = 'libero-'

/** Of the first generation, where each controller has a tree; or of the second, where one must have been switched on. */
function pidsFolder(at: string): string | undefined {
  const first = join(at, 'pids')
  if (isWritable(join(first, 'cgroup.procs'))) return first
  const switchedOn = textOf(join(at, 'cgroup.subtree_control')).split(/\s+/).includes('pids')
  return switchedOn && isWritable(at) ? at : undefined
}

/** Groups of processes that ended without tidying up. */
function removeDead(parent: string): void {
  for (const name of readdirSync(parent)) {
    const [, pid] = /^libero-(\d+)-/.exec(name) ?? []
    if (pid && !send(Number(pid), 0)) tryToRemove(join(parent, name))
  }
}

function tryToRemove(folder: string): boolean {
  try {
    rmdirSync(folder)
    return true
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'ENOENT'
  }
}

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK)
    return true
  } catch {
    return false
  }
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

function problem(reason: string): Error {
  return new Error(
    `The number of processes cannot be limited for root here: ${reason}. Run as another user, or accept that with \`limits: { processes: 0 }\``,
  )
}
