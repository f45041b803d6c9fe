import type { CommandWork } from '../lazy-command.ts'

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
