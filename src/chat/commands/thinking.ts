import type { ThinkingLevel } from '../../core/thinking.ts'
import type { CommandWork } from '../lazy-command.ts'
import { pick } from './pick.ts'

const levels: Readonly<Record<ThinkingLevel, string>> = {
  off: 'answers at once',
  minimal: 'about 1,000 tokens',
  low: 'about 4,000 tokens',
  medium: 'about 10,000 tokens',
  high: 'about 32,000 tokens',
  adaptive: 'the model decides, if it can',
}

export const thinking: CommandWork = {
  complete: () => Object.entries(levels).map(([text, detail]) => ({ text, detail })),
  async run(argument, { chat, screen }) {
    const present = chat.state.settings.thinking
    const level = await pick(argument, { title: 'Thinking', choices: levels, present, screen })
    if (level === undefined) return
    await chat.set({ thinking: level })
    screen.print(`Thinking: ${level}`)
  },
}
