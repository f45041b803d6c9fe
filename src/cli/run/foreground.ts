import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

/** Whether this process is the one that the terminal belongs to; true where nobody can say. */
export function isForeground(): boolean {
  if (process.platform === 'win32') return true
  try {
    const [own, terminals] = process.platform === 'linux' ? groupsByFile() : groupsByProgram()
    return own === terminals
  } catch {
    return true
  }
}

/** The name of a program, in parentheses, may hold anything; what follows are state, parent, group, session, terminal, its group. */
function groupsByFile(): (string | undefined)[] {
  const stat = readFileSync('/proc/self/stat', 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return [fields[2], fields[5]]
}

function groupsByProgram(): (string | undefined)[] {
  const args = ['-o', 'pgid=,tpgid=', '-p', String(process.pid)]
  return execFileSync('ps', args, { encoding: 'utf8', timeout: 1000 }).trim().split(/\s+/)
}

/** Stops the process, and what the shell started with it, as Ctrl-Z does. Resolves when it goes on, also if it could not be stopped. */
export function suspend(): Promise<void> {
  if (process.platform !== 'win32') process.kill(0, 'SIGTSTP')
  return new Promise((resolve) => setTimeout(resolve, signalMs))
}

/** Time for a signal to arrive; the rest passes while nothing runs. */
const signalMs = 100
