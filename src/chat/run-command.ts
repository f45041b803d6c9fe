import { existsSync } from 'node:fs'
import { didYouMean } from '../core/nearest.ts'
import { visibleName } from '../platform/visible-text.ts'
import type { ChatCommand, CommandContext } from './command.ts'
import { type CommandLine, readCommandLine } from './read-command-line.ts'

export { readCommandLine }

/**
 * Runs a line that begins with a slash. Resolves with `message` if it is none of the commands but begins with a path, such as
 * `/tmp/x is broken`: it is for the model then. Rejects if the command fails, or if there is no such command.
 */
export async function runCommand(line: string, context: CommandContext): Promise<'done' | 'message'> {
  const { commands } = context
  const typed = readCommandLine(line)
  if (!typed) return 'message'
  const command = findCommand(typed.name, commands)
  if (!command && isPath(typed)) return 'message'
  if (!command) throw unknownCommand(typed.name, commands)
  if (typed.argument !== '' && command.argument === undefined)
    throw new Error(`/${command.name} takes no argument, got "${visibleName(typed.argument.slice(0, 100))}"`)
  await command.run(typed.argument, context)
  return 'done'
}

/** Whether a line that is no command begins with a path, such as `/tmp is full`. */
export const isPath = ({ name }: CommandLine): boolean => existsSync(`/${name}`)

/** A command with this name; upper and lower case are the same. */
export function findCommand(name: string, commands: readonly ChatCommand[]): ChatCommand | undefined {
  return commands.find((one) => one.name === name) ?? commands.find((one) => one.name === name.toLowerCase())
}

function unknownCommand(name: string, commands: readonly ChatCommand[]): Error {
  const shown = visibleName(name.slice(0, 60))
  const hint = didYouMean(
    `/${name}`,
    commands.map((one) => `/${one.name}`),
  )
  return new Error(
    `There is no command /${shown}${hint || '; /help lists them.'} To send the line as a message, put a blank before it.`,
  )
}
