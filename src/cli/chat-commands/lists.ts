import type { CommandWork } from '../../chat/lazy-command.ts'
import { exitCodes } from '../cli-error.ts'
import type { Io } from '../io.ts'
import { showOutput } from './show-output.ts'

/** Commands that show what the command of the same name prints. */

const none = { values: {}, words: [] }

export const tools = (io: Io): CommandWork => ({
  run: (_, context) =>
    showOutput(io, { context, title: 'Tools' }, async (inside) => {
      const { listTools, toolTable } = await import('../tools/list-tools.ts')
      const { tools: found, notices } = await listTools({}, inside)
      for (const line of [...toolTable(found), ...notices]) inside.out(line)
      return exitCodes.done
    }),
})

export const skills = (io: Io): CommandWork => ({
  run: (_, context) =>
    showOutput(io, { context, title: 'Skills' }, async (inside) =>
      (await import('../skills/skills.ts')).list(none, inside),
    ),
})

export const agents = (io: Io): CommandWork => ({
  run: (argument, context) =>
    showOutput(io, { context, title: 'Agents' }, async (inside) => {
      if (argument === '') return (await import('../agents/list.ts')).list(none, inside)
      return (await import('../agents/show.ts')).show({ values: {}, words: [argument] }, inside)
    }),
})

export const schedules = (io: Io): CommandWork => ({
  run: (_, context) =>
    showOutput(io, { context, title: 'Schedules' }, async (inside) =>
      (await import('../schedules/list.ts')).list(none, inside),
    ),
})

export const sandbox = (io: Io): CommandWork => ({
  run: (argument, context) =>
    showOutput(io, { context, title: 'Sandbox' }, async (inside) =>
      (await import('../policy/show-sandbox.ts')).showSandbox(
        { values: {}, words: argument === '' ? [] : [argument] },
        inside,
      ),
    ),
})

/** In the mode of the conversation. */
export const policy = (io: Io): CommandWork => ({
  async run(argument, context) {
    const { screen, chat } = context
    const command = argument || (await screen.ask('Command to explain'))?.trim()
    if (!command) return
    const { mode } = chat.state.settings
    await showOutput(io, { context, title: 'Policy' }, async (inside) => {
      const { explainHere, explanationLines } = await import('../policy/explain-here.ts')
      const explained = await explainHere(command, inside, mode === undefined ? {} : { mode })
      for (const line of explanationLines(explained)) inside.out(line)
      return exitCodes.done
    })
  },
})

export const doctor = (io: Io): CommandWork => ({
  run: (_, context) =>
    showOutput(io, { context, title: 'Doctor' }, async (inside) =>
      (await import('../doctor/doctor.ts')).doctor({}, inside),
    ),
})
