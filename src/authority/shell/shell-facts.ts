import type { ShellFacts } from '../judged-call.ts'
import { commandFacts } from './command-facts.ts'
import type { ShellLocation } from './place.ts'
import type { ShellReading } from './reading.ts'
import { catastrophic } from './tables/catastrophe.ts'

/** A line as it was read, with each of its commands looked up. */
export function shellFacts({ isWhole, obstacles, commands, words }: ShellReading, place: ShellLocation): ShellFacts {
  const facts = { isWhole, obstacles, commands: commands.map((command) => commandFacts(command, place)), words }
  const catastrophe = catastrophic(facts, place)
  return { ...facts, ...(catastrophe !== undefined && { catastrophe }) }
}
