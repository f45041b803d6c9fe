import { oneLine } from '../../core/text.ts'
import { callInRun } from '../call-in-run.ts'
import type { CommandWork } from '../lazy-command.ts'
import { requireIdle } from './open-session.ts'

export const jobs: CommandWork = {
  async run(_, { chat, screen }) {
    const running = chat.state.view.jobs
    if (running.length === 0) return screen.print('No background job runs')
    const items = running.map(({ job, command }) => ({ label: oneLine(command, 100), detail: `job ${job}` }))
    const index = await screen.choose({ title: 'Background jobs: choose one to see it', items })
    const chosen = index === undefined ? undefined : running[index]
    if (!chosen) return
    const doing = [
      { label: 'keep it running', detail: 'and show what it wrote', tool: 'shell_output' },
      { label: 'stop it', detail: 'and show the rest of its output', tool: 'shell_stop' },
    ]
    const what = await screen.choose({ title: `Job ${chosen.job}`, items: doing })
    const tool = what === undefined ? undefined : doing[what]?.tool
    if (tool === undefined) return
    requireIdle({ chat })
    const { output } = await chat.withAgent(({ agent, work }, signal) => {
      if (!work) throw new Error('This agent cannot do that for you; ask it to')
      return work.do(agent, (run) => callInRun(run, tool, { job: chosen.job }), { signal })
    })
    await screen.view({ title: `Job ${chosen.job}: ${oneLine(chosen.command, 60)}`, text: output })
  },
}
