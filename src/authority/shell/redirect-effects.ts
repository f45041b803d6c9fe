import type { EffectFact } from '../judged-call.ts'
import type { ReadCommand, ReadRedirect } from './reading.ts'
import { isPattern, locate, type ShellLocation } from './shell-location.ts'

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
