import { resolvePosix } from '../core/execution.ts'
import type { ReadCommand, ReadRedirect } from './reading.ts'
import type { EffectFact } from './shell-facts.ts'
import { isPattern, locate, type ShellLocation } from './shell-location.ts'

/** Why a redirection names no file or an unknown one; undefined if it is plain. */
export function redirectProblem({ operator, descriptor = 0, target }: ReadRedirect): string | undefined {
  if (target === undefined) return unknown(operator)
  if (/^\/+dev\/+(?:tcp|udp)\b/.test(target)) return `a connection, ${operator} ${target}`
  // A file open for reading can be reopened for writing: `3< f > /dev/fd/3`.
  const isOpenFile = /^\/(?:dev\/(?:fd|stdin)|proc)\b/.test(resolvePosix('/', target))
  const isOddInput = operator.startsWith('<') && operator !== '<&' && descriptor > 0
  return isOpenFile || isOddInput ? unknown(operator) : undefined
}

const unknown = (operator: string): string => `a redirection that only the shell knows, ${operator}`

/**
 * Why the redirections of one command together may mean another file: a file open for reading, moved to the descriptor
 * of an output, is reopened for writing by `> /dev/stderr`.
 */
export function combinedProblem(redirects: readonly ReadRedirect[]): string | undefined {
  const isAgain = ({ target = '' }: ReadRedirect): boolean => /^\/+dev\/+std(out|err)$/.test(target)
  const again = redirects.find(isAgain)
  const isTangle = redirects.some((one) => one.operator.startsWith('<') || one.operator.endsWith('&'))
  return again && isTangle ? unknown(again.operator) : undefined
}

/** The effects of a command's redirections. */
export function redirectEffects(command: ReadCommand, location: ShellLocation): EffectFact[] {
  return command.redirects.flatMap((redirect) => effectsOf(redirect, command.cwd, location))
}

function effectsOf({ operator, target }: ReadRedirect, cwd: string | undefined, location: ShellLocation): EffectFact[] {
  if (operator.startsWith('<<')) return []
  const isDuplicate = operator.endsWith('&') && target !== undefined && /^(\d+-?|-)$/.test(target)
  if (isDuplicate || (target !== undefined && /^\/dev\/(null|stdin|stdout|stderr|fd\/\d+)$/.test(target))) return []
  // For these the shell itself opens a connection.
  const host = /^\/+dev\/+(?:tcp|udp)\/+([^/]*)/.exec(target ?? '')?.[1]
  if (host !== undefined) return [{ effect: 'net', ...(host !== '' && { target: host }) }]
  const isRead = operator === '<' || operator === '<&'
  const isKnown = target !== undefined && (isRead || !isPattern(target))
  const said = target === undefined ? {} : locate(target, cwd, location)
  const where = isKnown ? said : { ...said, isOutside: true }
  const read: EffectFact = { effect: 'fs.read', ...where }
  const write: EffectFact = { effect: 'fs.write', ...where }
  if (operator === '<>') return [read, write]
  return [isRead ? read : write]
}
