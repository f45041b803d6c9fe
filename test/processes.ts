import { execFileSync } from 'node:child_process'
import { randomInt } from 'node:crypto'

/** Whether there is such a process. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

/** A time for `sleep` that no other process of this machine sleeps for: in a sandbox, a process has another number than here. */
export const ownSeconds = (): string => `100.${randomInt(1e9, 1e10)}`

/** Whether some process has this text among its words. */
export function isRunning(text: string): boolean {
  return execFileSync('ps', ['-A', '-o', 'args='], { encoding: 'utf8', maxBuffer: 1 << 26 }).includes(text)
}

/** Tests that mount file systems or make files immutable change the machine, so they run only as root with CI set. */
export const mayChangeMachine = process.platform === 'linux' && process.getuid?.() === 0 && Boolean(process.env.CI)
