import type { CommandWork } from '../lazy-command.ts'
import { pick } from './pick.ts'

export const profile: CommandWork = {
  complete: (_, { chat }) => chat.profiles.map((text) => ({ text })),
  async run(argument, { chat, screen }) {
    if (chat.profiles.length === 0) throw new Error('There are no profiles to choose from here')
    const choices = Object.fromEntries(chat.profiles.map((name) => [name, '']))
    const present = chat.state.settings.profile
    const name = await pick(argument, { title: 'Profile', choices, present, screen })
    if (name === undefined) return
    await chat.set({ profile: name })
    screen.print(`Profile: ${name}`)
  },
}
