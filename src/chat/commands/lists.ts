import { isSameGrant } from '../../authority/grants/grant.ts'
import { placeWords } from '../../authority/interaction/approval-options.ts'
import { oneLine } from '../../core/text.ts'
import { formatDate } from '../../platform/format.ts'
import { callInRun } from '../call-in-run.ts'
import type { ChatState } from '../chat.ts'
import type { CommandWork } from '../lazy-command.ts'
import { requireIdle } from './open-session.ts'

/** All steps of the agent's list; the screen has room for the present one only. */
export const todo: CommandWork = {
  run(_, { chat, screen }) {
    const { todos } = chat.state.view
    if (todos.length === 0) return screen.print('The agent has no list of steps')
    const done = todos.filter(({ status }) => status === 'completed').length
    const lines = todos.map(({ content, status }) => `${boxes[status]} ${oneLine(content, 200)}${atWork[status] ?? ''}`)
    screen.print([`${done} of ${todos.length} steps are done`, ...lines].join('\n'))
  },
}

const boxes = { completed: '☑', in_progress: '☐', pending: '☐' }
const atWork: Partial<Record<keyof typeof boxes, string>> = { in_progress: ' (at work)' }

/** Shows the messages that wait for the end of the run. One can be changed or sent at once. */
export const queue: CommandWork = {
  async run(_, { chat, screen }) {
    const { queue: waiting, view } = chat.state
    if (waiting.length === 0) return screen.print(emptyWords(view.queue.length))
    const items = waiting.map(({ text }, i) => ({ label: `${i + 1}  ${oneLine(text, 100)}` }))
    const index = await screen.choose({ title: 'Queued messages: choose one to change or send it', items })
    const chosen = index === undefined ? undefined : waiting[index]
    if (!chosen) return
    const doing = [
      { label: 'change it', detail: 'back into the input line' },
      { label: 'send it now', detail: 'to the run under way' },
    ]
    const what = await screen.choose({ title: oneLine(chosen.text, 60), items: doing })
    if (what === undefined) return
    const message = chat.takeBack(chosen.id)
    if (!message) return screen.print('It is on its way to the model already')
    if (what === 1) return chat.send(message, 'steer')
    screen.setDraft(message.text)
    if (message.parts?.some(({ type }) => type !== 'text'))
      screen.print('Its images are no longer attached; add them again')
  },
}

const emptyWords = (onTheWay: number): string =>
  onTheWay === 0 ? 'No message is queued' : 'No message is queued; those you sent reach the model with its next call'

/** Shows what a sub-agent does, as its own conversation. */
export const watch: CommandWork = {
  complete: (typed, { chat }) =>
    agentsOf(chat.state)
      .map(({ number, words }) => ({ text: `${number}`, label: `agent ${number}`, detail: words }))
      .filter(({ text }) => text.startsWith(typed)),
  async run(argument, { chat, screen }) {
    const agents = agentsOf(chat.state)
    if (agents.length === 0) return screen.print('No sub-agent has worked here since this session was opened')
    if (argument !== '') {
      const named = agents.find(({ number }) => `${number}` === argument)
      if (!named) throw new Error(`There is no sub-agent "${argument}"; there are ${numbers(agents.length)}`)
      return screen.open('agent', named.number)
    }
    const items = agents.map(({ number, words }) => ({ label: `agent ${number}`, detail: words }))
    const index = agents.length === 1 ? 0 : await screen.choose({ title: 'Watch which sub-agent?', items })
    if (index !== undefined) return screen.open('agent', agents[index]!.number)
  },
}

const numbers = (count: number): string => (count === 1 ? 'only 1' : `1 to ${count}`)

/** The number of a sub-agent is its place in the order in which they began. */
function agentsOf({ view }: ChatState): { readonly number: number; readonly words: string }[] {
  return view.children.map(({ isOver, view: own }, i) => {
    const first = own.rows.at(0)
    const block = first?.kind === 'message' ? first.content[0] : undefined
    const task = block?.type === 'text' ? oneLine(block.text, 60) : ''
    return { number: i + 1, words: `${isOver ? 'done' : 'at work'}${task === '' ? '' : `: ${task}`}` }
  })
}

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

export const grants: CommandWork = {
  async run(_, { chat, screen }) {
    const kept = chat.agent?.authority?.grants
    if (!kept) throw new Error('This agent has no authority that decides about calls, so it keeps no approvals')
    await kept.load()
    const all = kept.list()
    if (all.length === 0) return screen.print('No approval is kept')
    const items = all.map(({ tool, covers, scope, project, sessionId, within, grantedAt }) => ({
      label: `${tool}: ${covers}`,
      detail: [
        scope === 'project' ? `always in ${project}` : `in the session ${sessionId}`,
        ...(within ? [placeWords(within)] : []),
        formatDate(grantedAt),
      ].join('; '),
    }))
    const index = await screen.choose({ title: 'Kept approvals: choose one to revoke it', items })
    const chosen = index === undefined ? undefined : all[index]
    if (!chosen) return
    await kept.revoke((grant) => isSameGrant(grant, chosen))
    screen.print(`Revoked: ${chosen.tool}: ${chosen.covers}`)
  },
}
