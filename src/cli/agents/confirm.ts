import { createInterface } from 'node:readline/promises'
import { CliError, exitCodes, UsageError } from '../cli-error.ts'
import type { Io } from '../io.ts'

/** Throws without a terminal; `asking` names the command and what it asks about. */
export function requireTerminal({ stdin, stderr }: Pick<Io, 'stdin' | 'stderr'>, asking: string): void {
  if (stdin.isTTY === true && stderr.isTTY === true) return
  throw new UsageError(`${asking}, and there is no terminal to ask on; add --yes`)
}

/** Asks the person at the terminal for a yes. Ctrl-C and a closed terminal end the command with nothing done. */
export async function confirm(question: string, { stdin, stderr }: Pick<Io, 'stdin' | 'stderr'>): Promise<boolean> {
  const reader = createInterface({ input: stdin, output: stderr })
  const left = new AbortController()
  reader.once('SIGINT', () => reader.close())
  reader.once('close', () => left.abort())
  try {
    const said = await reader.question(`${question} [y/N] `, { signal: left.signal })
    return /^y(?:es)?$/i.test(said.trim())
  } catch (cause) {
    stderr.write('\n')
    throw new CliError('Nothing was done', exitCodes.interrupted, { cause })
  } finally {
    reader.close()
  }
}
