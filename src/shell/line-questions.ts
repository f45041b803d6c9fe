import { once } from '../core/waiting.ts'
import type { ShellReading } from './reading.ts'
import { commandFacts } from './shell-facts.ts'
import { createShellReader } from './shell-reader.ts'
import { programNamed } from './tables/programs.ts'

/**
 * Whether a line is one command that only reads, so that others may run at the same time. It serves speed, not security: in
 * doubt it is none.
 */
export async function onlyReads(line: string): Promise<boolean> {
  const [, name = ''] = /^\s*([\w.-]+)(?!\S)/.exec(line) ?? []
  const { reads, neutral } = programNamed(name)
  if (line.length > maxLength || joins.test(line) || !(reads ?? neutral)) return false
  const { isWhole, obstacles, commands } = await read(line)
  const [command] = commands
  if (!isWhole || obstacles.length > 0 || commands.length > 1 || !command) return false
  const isBare = Object.keys(command.env).length === 0 && command.via.length === 0
  return isBare && commandFacts(command, anywhere).isReadOnly
}

/** Whether exit code 1 of a line only means "nothing found" or "false", and is no failure. */
export async function exitOneMeansNo(line: string): Promise<boolean> {
  const mayAsk = line.length <= maxLength && line.split(/[^\w[]+/).some((word) => programNamed(word).exitOne === 'no')
  if (!mayAsk) return false
  const meanings = (await read(line)).ends.map((name) => programNamed(name).exitOne)
  return meanings.includes('no') && !meanings.includes(undefined)
}

/** Longer lines are not read. */
const maxLength = 8192

/** Operators between commands, or commands and files, and substitutions; quoted or not. */
const joins = /[|><;&`\n]|\$[({[]/

const anywhere = { root: '/', isTrusted: true }

/** Long, because only a busy machine needs it: a line of this length is read in less than a second. */
const timeoutMs = 15_000

/** The reader of this process for these questions. Its thread does not keep the process alive. */
const reader = once(() => createShellReader({ timeoutMs }))

const read = (line: string): Promise<ShellReading> => reader().read(line)
