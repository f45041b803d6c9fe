import type { RunValues } from '../commands/run.ts'
import type { Io } from '../io.ts'

/** A person types and reads here, and no other program is at either end. */
export function isFullTerminal({ stdin, stdout, stderr, env }: Streams, { quiet, schema, plain }: RunValues): boolean {
  if (quiet || schema !== undefined) return false
  if (plain) return true
  return [stdin, stdout, stderr].every(({ isTTY }) => isTTY === true) && env.TERM !== 'dumb' && !isSet(env.CI)
}

/** A person types and reads here, at a terminal that cannot move its cursor: a chat is in plain lines. */
export function isDumbTerminal({ stdin, stdout, stderr, env }: Streams): boolean {
  return env.TERM === 'dumb' && isFullTerminal({ stdin, stdout, stderr, env: { ...env, TERM: '' } }, {})
}

type Streams = Pick<Io, 'stdin' | 'stdout' | 'stderr' | 'env'>

const isSet = (value: string | undefined): boolean => value !== undefined && value !== '' && value !== 'false'
