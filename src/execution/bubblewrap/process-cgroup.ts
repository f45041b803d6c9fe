import { accessSync, constants, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { messageOf } from '../../core/errors.ts'
import { send } from '../../platform/leftover-processes.ts'

/** A cgroup with a limit on processes, also for root, to which `ulimit -u` does not apply. */
export interface ProcessCgroup {
  /** A process that writes 0 into this file joins the group with all its children. */
  readonly entrance: string
  remove(): Promise<void>
}

/** Needs the right to create cgroups, which root usually has. */
export function createProcessCgroup(most: number, at = '/sys/fs/cgroup'): ProcessCgroup {
  const tree = pidsTree(at)
  if (!tree) throw problem(`there is no pids controller in ${at} that may be used`)
  const { parent, entrance } = tree
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
    entrance: join(folder, entrance),
    async remove() {
      for (let pause = 1; !tryToRemove(folder) && pause < 500; pause *= 2) await sleep(pause)
    },
  }
}

/** Whether this process can create such groups. */
export function canCreateCgroups(): boolean {
  if (isPossible !== undefined) return isPossible
  try {
    void createProcessCgroup(1).remove()
    isPossible = true
  } catch {
    isPossible = false
  }
  return isPossible
}

let isPossible: boolean | undefined

const prefix = 'libero-'

/**
 * Of cgroup v1, where each controller has a tree; or of v2, where the controller must be enabled. What joins is a shell with
 * one thread, and for a thread that joins by itself the kernel waits for no other processor: about 10 ms less for each
 * sandbox. In v2 threads cannot join a group of another part of the tree.
 */
function pidsTree(at: string): { parent: string; entrance: string } | undefined {
  const first = join(at, 'pids')
  if (isWritable(join(first, 'tasks'))) return { parent: first, entrance: 'tasks' }
  const isEnabled = textOf(join(at, 'cgroup.subtree_control')).split(/\s+/).includes('pids')
  return isEnabled && isWritable(at) ? { parent: at, entrance: 'cgroup.procs' } : undefined
}

/** Removes groups of processes that ended without cleaning up. */
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
    `The number of processes cannot be limited for root here: ${reason}. Run as another user, or accept that: leave \`processes\` out of the limits of the process context, or give that of bubblewrap \`limits: { processes: 0 }\``,
  )
}
