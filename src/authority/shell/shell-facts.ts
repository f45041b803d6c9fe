import type { ShellFacts } from '../judged-call.ts'
import { commandFacts } from './command-facts.ts'
import type { ShellReading } from './reading.ts'
import type { ShellLocation } from './shell-location.ts'
import { catastrophic } from './tables/catastrophe.ts'

/** A parsed line with the facts about each command. */
export function shellFacts({ isWhole, obstacles, commands, words }: ShellReading, location: ShellLocation): ShellFacts {
  const facts = { isWhole, obstacles, commands: commands.map((command) => commandFacts(command, location)), words }
  const catastrophe = catastrophic(facts, location)
  return { ...facts, ...(catastrophe !== undefined && { catastrophe }) }
}
