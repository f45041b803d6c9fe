import type { SecurityMode } from '../../authority/rules/settings.ts'
import type { CommandContext } from '../command.ts'
import type { CommandWork } from '../lazy-command.ts'
import { pick } from './pick.ts'

const modes: Readonly<Record<SecurityMode, string>> = {
  plan: 'reads only; every change is refused',
  ask: 'asks before what is not read-only or allowed by a rule',
  allowlist: 'also allows what the allowlist names',
  yolo: 'asks only about irreparable damage',
}

export const mode: CommandWork = {
  complete: () => Object.entries(modes).map(([text, detail]) => ({ text, detail })),
  async run(argument, context) {
    const { chat, screen } = context
    const wanted = await pick(argument, { title: 'Mode', choices: modes, present: presentMode(context), screen })
    if (wanted === undefined) return
    if (wanted === 'yolo' && !(await isSure(context))) return screen.print('The mode stays as it was')
    await chat.set({ mode: wanted })
    screen.print(`Mode: ${wanted}, ${modes[wanted]}`)
  },
}

export const plan: CommandWork = {
  async run(argument, context) {
    const { chat, screen } = context
    if (presentMode(context) !== 'plan') {
      await chat.set({ mode: 'plan' })
      screen.print(`Mode: plan, ${modes.plan}`)
    } else if (argument === '') screen.print('The mode is plan already; /mode ask leaves it')
    if (argument !== '') await chat.send({ text: argument })
  },
}

function presentMode({ chat }: CommandContext): SecurityMode {
  const { mode: present } = chat.state.settings
  if (present === undefined) throw new Error('This agent has no authority that decides about calls, so it has no mode')
  return present
}

async function isSure({ chat, screen }: CommandContext): Promise<boolean> {
  if (chat.state.settings.mode === 'yolo') return true
  const items = [
    { label: 'no', detail: 'the mode stays as it is' },
    { label: 'yes', detail: 'calls run without a question, except for irreparable damage' },
  ]
  return (await screen.choose({ title: 'Run calls without asking you?', items, initial: 0 })) === 1
}
