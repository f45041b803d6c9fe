import { oneLine } from '../../core/text.ts'
import type { ChatCommand } from '../command.ts'

/** A command `/skill:name` for each skill. */
export function skillCommands(
  skills: readonly { readonly name: string; readonly description: string }[],
): readonly ChatCommand[] {
  return skills.map(({ name, description }) => ({
    name: `skill:${name}`,
    summary: `${oneLine(description, 80)} (skill)`,
    argument: '[message]',
    async run(argument, { chat, screen }) {
      const { agent } = chat.agent ?? {}
      if (!agent?.activateSkill) throw new Error('This agent has no skills')
      await agent.activateSkill(name)
      if (argument === '') return screen.print(`The skill ${name} is active from your next message on`)
      await chat.send({ text: `/skill:${name} ${argument}`, parts: [{ type: 'text', text: argument }] })
    },
  }))
}
