import { hasColours } from '../screen/paint.ts'
import { type Check, missing, ok } from './check.ts'

/** What this terminal can show. */
export const terminal: Check = {
  name: 'terminal',
  async look({ io: { stdin, stdout, stderr, env } }) {
    const isTerminal = stdout.isTTY === true && stderr.isTTY === true
    const says = [
      isTerminal ? `${stdout.columns ?? 80} columns` : 'the output is not a terminal and stays plain',
      stdin.isTTY ? 'questions can be asked' : 'nobody can be asked on stdin',
      hasColours(stdout, env) ? 'colours' : 'no colours',
      isUtf8(env) ? 'UTF-8' : 'not UTF-8',
    ].join(', ')
    return isUtf8(env) ? ok(says) : missing(says, 'export LC_ALL=C.UTF-8')
  },
}

/** Where nothing is said about letters, Windows and macOS have them all. */
function isUtf8(env: Readonly<Record<string, string | undefined>>): boolean {
  const locale = env.LC_ALL || env.LC_CTYPE || env.LANG
  if (!locale) return process.platform !== 'linux'
  return /utf-?8/i.test(locale)
}
