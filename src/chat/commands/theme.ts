import type { CommandWork } from '../lazy-command.ts'
import { pick } from './pick.ts'

export const theme: CommandWork = {
  complete: (_, { screen }) => (screen.themes ?? []).map((text) => ({ text })),
  async run(argument, { screen }) {
    const { themes = [] } = screen
    if (themes.length === 0 || !screen.setTheme)
      throw new Error('This screen has one theme: the colours of the terminal')
    const choices = Object.fromEntries(themes.map((name) => [name, '']))
    const name = await pick(argument, { title: 'Theme', choices, present: themes[0], screen })
    if (name === undefined) return
    await screen.setTheme(name)
    screen.print(`Theme: ${name}`)
  },
}
