import { createHash } from 'node:crypto'
import { readlinkSync } from 'node:fs'
import { hostname } from 'node:os'
import { codeOf } from '../core/errors.ts'

/** Part of a name, by which others can tell whether the process that made it still lives. */
export function processMark(): string {
  return `${machine()}-${process.pid}-${crypto.randomUUID().slice(0, 8)}`
}

/** Whether the process that made a mark is gone. Of a process that ran somewhere else nobody knows. */
export function isMarkOfDead(mark: string): boolean {
  const [, from, pid] = /^([0-9a-f]{8})-(\d+)-/.exec(mark) ?? []
  if (from !== machine()) return false
  try {
    process.kill(Number(pid), 0)
    return false
  } catch (error) {
    return codeOf(error) === 'ESRCH'
  }
}

/** Process ids mean something only where they were given: not in another container that sees the same files. */
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
