import { fullyVisible } from '../../platform/visible-text.ts'
import { formatDate } from '../../tui/rows/format.ts'
import { createPaint, hasColours } from '../../tui/terminal/paint.ts'
import { exitCodes } from '../cli-error.ts'
import type { Args } from '../command.ts'
import type { Io } from '../io.ts'
import { timeIn } from '../schedules/schedule-text.ts'
import { titlesFor } from '../sessions/session-title.ts'
import { jsonText } from '../text.ts'
import { agentLabel, describeAgents } from './agent-row.ts'
import { findAgent, requireAgent } from './find-agent.ts'
import { messageLines } from './message-lines.ts'
import { withWorkflow } from './open-workflow.ts'
import { waitingJson, waitingLines } from './pending-calls.ts'

/** `libero agents show`. */
export async function show(
  { values, words }: Args<{ readonly full?: boolean; readonly json?: boolean }>,
  io: Io,
): Promise<number> {
  const asked = requireAgent(words, 'agents show')
  return withWorkflow(io, async (opened) => {
    const agent = await findAgent(opened, asked)
    const messages = await opened.workflow.getMessages(agent.id)
    const [row] = await describeAgents([agent], opened)
    const { waiting, ...summary } = row!
    if (values.json) {
      io.out(jsonText({ ...summary, waiting: waiting.map(waitingJson), messages }))
      return exitCodes.done
    }
    const paint = createPaint({ colours: hasColours(io.stdout, io.env) })
    const { id, definition, created, parent, nextWake } = summary
    const title = titlesFor(io.env)(summary)
    if (title !== '') io.out(paint.bold(title))
    const facts = [
      ['agent', id],
      ['definition', definition],
      ...(parent === undefined ? [] : [['sub-agent of', parent]]),
      ['created', formatDate(created)],
      ['status', agentLabel(summary)],
      ...(nextWake === undefined ? [] : [['wakes', timeIn(nextWake, Date.now())]]),
    ]
    for (const [key, value] of facts) io.out(paint.dim(`${`${key}:`.padEnd(13)} ${fullyVisible(value!)}`))
    const manner = { paint, cwd: io.cwd, isFull: values.full === true }
    for (const message of messages) for (const line of messageLines(message, manner)) io.out(line)
    for (const call of waiting) for (const line of waitingLines(call, id, waiting)) io.err(line)
    return exitCodes.done
  })
}
