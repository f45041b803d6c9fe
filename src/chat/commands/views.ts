import type { ChatCommand } from '../command.ts'
import type { CommandWork } from '../lazy-command.ts'
import { findCommand } from '../run-command.ts'

export const keys: CommandWork = { run: (_, { screen }) => screen.open('keys') }

export const waiting: CommandWork = { run: (_, { screen }) => screen.open('waiting') }

/** The log of the session, at an entry or at its end. */
export const log: CommandWork = {
  async run(argument, { screen }) {
    const at = argument === '' ? undefined : Number(argument)
    if (at !== undefined && !(Number.isInteger(at) && at > 0))
      throw new Error(`"${argument}" is no number of an entry; /log shows the last ones`)
    await screen.open('inspector', at)
  },
}

/** The text of the editor becomes the draft, which the person sends. */
export const editor: CommandWork = {
  async run(argument, { screen }) {
    const text = await screen.edit(argument)
    if (text !== undefined) screen.setDraft(text)
  },
}

export const quit: CommandWork = { run: (_, { screen }) => screen.quit() }

export const help: CommandWork = helpCommand([])

/** With what could not be used, in sentences, below the commands. */
export function helpCommand(problems: readonly string[]): CommandWork {
  return {
    complete: (_, { commands }) => commands.map(({ name, summary }) => ({ text: name, detail: summary })),
    async run(argument, { screen, commands }) {
      const text = [commandTable(commands), ...problems].join('\n\n')
      if (argument === '') return screen.view({ title: 'Commands', text })
      const name = argument.replace(/^\//, '')
      const command = findCommand(name, commands)
      if (!command) throw new Error(`There is no command /${name}; /help lists them`)
      screen.print(`${usageOf(command)}  ${command.summary}`)
    },
  }
}

/** One line for each command. */
function commandTable(commands: readonly ChatCommand[]): string {
  const width = Math.max(...commands.map((command) => usageOf(command).length))
  return commands.map((command) => `${usageOf(command).padEnd(width)}  ${command.summary}`).join('\n')
}

/** `/model [name]`. */
export const usageOf = ({ name, argument }: Pick<ChatCommand, 'name' | 'argument'>): string =>
  argument === undefined ? `/${name}` : `/${name} ${argument}`
