import { resolvePosix } from '../../core/posix-path.ts'
import type { ReadRedirect } from './reading.ts'

/** Why a redirection does not say which file it is about, or is about no file; undefined when all is plain. */
export function redirectProblem({ operator, descriptor = 0, target }: ReadRedirect): string | undefined {
  if (target === undefined) return unknown(operator)
  if (/^\/+dev\/+(?:tcp|udp)\b/.test(target)) return `a connection, ${operator} ${target}`
  // What is open for reading can be opened once more for writing: `3< f > /dev/fd/3`.
  const isOpenFile = /^\/(?:dev\/(?:fd|stdin)|proc)\b/.test(resolvePosix('/', target))
  const isOddInput = operator.startsWith('<') && operator !== '<&' && descriptor > 0
  return isOpenFile || isOddInput ? unknown(operator) : undefined
}

const unknown = (operator: string): string => `a redirection that only the shell knows, ${operator}`
