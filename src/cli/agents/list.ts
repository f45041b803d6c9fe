import { visibleName } from '../../platform/visible-text.ts'
import { maxLimit } from '../../sessions/session-query.ts'
import { timeAgo } from '../../tui/rows/format.ts'
import { createPaint, hasColours } from '../../tui/terminal/paint.ts'
import { cutToWidth, textWidth } from '../../tui/terminal/text-width.ts'
import { exitCodes, UsageError } from '../cli-error.ts'
import type { Args } from '../command.ts'
import type { Io } from '../io.ts'
import { timeIn } from '../schedules/schedule-text.ts'
import { titlesFor } from '../sessions/session-title.ts'
import { jsonText } from '../text.ts'
import { type AgentRow, agentLabel, describeAgents } from './agent-row.ts'
import { withWorkflow } from './open-workflow.ts'
import { waitingJson, waitingTitle } from './pending-calls.ts'

const defaultLimit = 50

interface ListValues {
  readonly all?: boolean
  readonly limit?: string
  readonly cursor?: string
  readonly json?: boolean
}

/** `libero agents list`. */
export async function list({ values }: Args<ListValues>, io: Io): Promise<number> {
  const { all = false, json, cursor } = values
  const limit = Number(values.limit ?? defaultLimit)
  if (limit > maxLimit)
    throw new UsageError(`--limit can be at most ${maxLimit}, got ${limit}; use --json and --cursor`)
  return withWorkflow(io, async (opened) => {
    const page = { limit, ...(cursor !== undefined && { cursor }) }
    const { agents, next } = await opened.workflow.listAgents({ closed: all, subAgents: all, ...page })
    const title = titlesFor(io.env)
    const rows = (await describeAgents(agents, opened)).map((row) => ({
      ...row,
      ...(row.title && { title: title(row) }),
    }))
    if (json) {
      const shown = rows.map((row) => ({ ...row, waiting: row.waiting.map(waitingJson) }))
      io.out(jsonText({ agents: shown, ...(next !== undefined && { next }) }))
      return exitCodes.done
    }
    for (const line of table(rows, io)) io.out(line)
    if (next !== undefined) io.err(`There are more: libero agents list${all ? ' --all' : ''} --limit ${limit * 4}`)
    if (rows.length === 0)
      io.err(
        'There are no agents yet; create one with: libero agents new assistant "remind me in 10 minutes to stretch"',
      )
    return exitCodes.done
  })
}

export function table(agents: readonly AgentRow[], { stdout, env }: Pick<Io, 'stdout' | 'env'>): string[] {
  const paint = createPaint({ colours: hasColours(stdout, env) })
  const now = Date.now()
  const fitted = (line: string): string => (stdout.isTTY ? cutToWidth(line, stdout.columns ?? 80) : line)
  const rows = agents.map((agent) => {
    const { id, definition, modified, title, parent, nextWake } = agent
    const details = [
      title && visibleName(title),
      parent && `of ${visibleName(parent)}`,
      nextWake && `wakes ${timeIn(nextWake, now)}`,
    ]
    const cells = [visibleName(id), visibleName(definition), timeAgo(modified, now), agentLabel(agent)]
    return [...cells, details.filter(Boolean).join(', ')]
  })
  const widths = [0, 1, 2, 3].map((i) => Math.max(0, ...rows.map((row) => textWidth(row[i]!))))
  const isNarrow = stdout.isTTY && widths.reduce((sum, width) => sum + width + 2, 0) > (stdout.columns ?? 80)
  const plain = (text: string): string => text
  const styles = [paint.bold, plain, paint.dim, paint.dim]
  return rows.flatMap((row, n) => {
    const { status, waiting } = agents[n]!
    const cells = row.map((cell, i) => {
      const wide = isNarrow ? cell : cell + ' '.repeat(Math.max(0, (widths[i] ?? 0) - textWidth(cell)))
      if (i === 3 && status === 'waiting') return paint.yellow(wide)
      if (i === 3 && (status === 'failed' || status === 'interrupted')) return paint.red(wide)
      return (styles[i] ?? plain)(wide)
    })
    const lines = isNarrow ? stacked(cells) : [cells.join('  ').trimEnd()]
    return [...lines.map(fitted), ...waiting.map((call) => fitted(paint.yellow(`    ${waitingTitle(call)}`)))]
  })
}

/** For a narrow terminal: status and title first, then id, definition and time on their own lines. */
function stacked([id, definition, when, status, details]: readonly string[]): string[] {
  return [`${status}  ${details || definition}`, `  ${id}`, `  ${definition}  ${when}`]
}
