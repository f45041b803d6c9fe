import { messageOf } from '../../core/errors.ts'
import { fullyVisible, visibleName } from '../../platform/visible-text.ts'
import { exitCodes } from '../cli-error.ts'
import type { Args } from '../command.ts'
import type { Io } from '../io.ts'
import { timeIn } from '../schedules/schedule-text.ts'
import { timeAgo } from '../screen/format.ts'
import { createPaint, hasColours } from '../screen/paint.ts'
import { cutToWidth, textWidth } from '../screen/text-width.ts'
import { jsonText } from '../text.ts'
import { type AgentSummary, agentStateLabels, summaryOf } from './agent-state.ts'
import { withWorkflow } from './open-workflow.ts'
import { waitingJson, waitingTitle } from './pending-calls.ts'

/** `libero agents list`. */
export async function list(
  { values }: Args<{ readonly all?: boolean; readonly json?: boolean }>,
  io: Io,
): Promise<number> {
  const { all = false, json } = values
  return withWorkflow(io, async (opened) => {
    const { agents: found } = await opened.workflow.listAgents({ closed: all, subAgents: all, limit: 1000 })
    const summaries: AgentSummary[] = []
    for (const instance of [...found].sort((a, b) => b.modified - a.modified))
      await summaryOf(instance, opened).then(
        (summary) => summaries.push(summary),
        // A damaged agent does not hide the others.
        (error) => io.err(`${fullyVisible(instance.id)} cannot be read: ${fullyVisible(messageOf(error))}`),
      )
    if (json) {
      io.out(jsonText(summaries.map((summary) => ({ ...summary, waiting: summary.waiting.map(waitingJson) }))))
      return exitCodes.done
    }
    for (const line of table(summaries, io)) io.out(line)
    if (summaries.length === 0)
      io.err(
        'There are no agents yet; create one with: libero agents new assistant "remind me in 10 minutes to stretch"',
      )
    return exitCodes.done
  })
}

export function table(agents: readonly AgentSummary[], { stdout, env }: Pick<Io, 'stdout' | 'env'>): string[] {
  const paint = createPaint({ colours: hasColours(stdout, env) })
  const now = Date.now()
  const fitted = (line: string): string => (stdout.isTTY ? cutToWidth(line, stdout.columns ?? 80) : line)
  const rows = agents.map(({ id, definition, modified, state, name, parent, nextWake }) => {
    const details = [
      name && visibleName(name),
      parent && `of ${visibleName(parent)}`,
      nextWake && `wakes ${timeIn(nextWake, now)}`,
    ]
    const cells = [visibleName(id), visibleName(definition), timeAgo(modified, now), agentStateLabels[state]]
    return [...cells, details.filter(Boolean).join(', ')]
  })
  const widths = [0, 1, 2, 3].map((i) => Math.max(0, ...rows.map((row) => textWidth(row[i]!))))
  const isNarrow = stdout.isTTY && widths.reduce((sum, width) => sum + width + 2, 0) > (stdout.columns ?? 80)
  const plain = (text: string): string => text
  const styles = [paint.bold, plain, paint.dim, paint.dim]
  return rows.flatMap((row, n) => {
    const { state, waiting } = agents[n]!
    const cells = row.map((cell, i) => {
      const wide = isNarrow ? cell : cell + ' '.repeat(Math.max(0, (widths[i] ?? 0) - textWidth(cell)))
      if (i === 3 && state === 'input-required') return paint.yellow(wide)
      if (i === 3 && (state === 'failed' || state === 'interrupted')) return paint.red(wide)
      return (styles[i] ?? plain)(wide)
    })
    const lines = isNarrow ? stacked(cells) : [cells.join('  ').trimEnd()]
    return [...lines.map(fitted), ...waiting.map((call) => fitted(paint.yellow(`    ${waitingTitle(call)}`)))]
  })
}

/** For a narrow terminal: state and name first, then id, definition and time on their own lines. */
function stacked([id, definition, when, state, details]: readonly string[]): string[] {
  return [`${state}  ${details || definition}`, `  ${id}`, `  ${definition}  ${when}`]
}
