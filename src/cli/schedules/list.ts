import { visibleName } from '../../platform/visible-text.ts'
import type { ScheduleState } from '../../plugins/schedule.ts'
import { createPaint, hasColours } from '../../tui/terminal/paint.ts'
import { cutToWidth, textWidth } from '../../tui/terminal/text-width.ts'
import { createScheduleBook } from '../../workflow/schedules/schedule-book.ts'
import { exitCodes } from '../cli-error.ts'
import type { Args } from '../command.ts'
import type { Io } from '../io.ts'
import { withStore } from '../sessions/open-store.ts'
import { jsonText } from '../text.ts'
import { messageLine, nextWords, whenWords } from './schedule-text.ts'
import { isSchedulerRunning, noSchedulerNotice } from './scheduler-state.ts'

/** `libero schedules list`: the next one first. */
export async function list({ values }: Args<{ readonly json?: boolean }>, io: Io): Promise<number> {
  return withStore(io, async (store) => {
    const all = [...(await createScheduleBook({ store }).list())].sort(
      (a, b) => (a.nextRunAt ?? Number.POSITIVE_INFINITY) - (b.nextRunAt ?? Number.POSITIVE_INFINITY),
    )
    if (values.json) {
      io.out(jsonText(all))
      return exitCodes.done
    }
    for (const line of table(all, io)) io.out(line)
    if (all.length === 0) io.err('There are no schedules; create one with: libero schedules add <agent> --every 1h "…"')
    else if (!(await isSchedulerRunning(store))) io.err(noSchedulerNotice)
    return exitCodes.done
  })
}

function table(schedules: readonly ScheduleState[], { stdout, env }: Pick<Io, 'stdout' | 'env'>): string[] {
  const paint = createPaint({ colours: hasColours(stdout, env) })
  const now = Date.now()
  const rows = schedules.map((one) => [
    visibleName(one.id),
    nextWords(one, now),
    visibleName(one.agentId),
    whenWords(one),
    one.name === undefined ? messageLine(one) : `${visibleName(one.name)}: ${messageLine(one)}`,
  ])
  const styles = [paint.bold, undefined, paint.dim, paint.dim]
  const widths = [0, 1, 2, 3].map((i) => Math.max(0, ...rows.map((row) => textWidth(row[i]!))))
  return rows.map((row) => {
    const cells = row.map((cell, i) => {
      const wide = cell + ' '.repeat(Math.max(0, (widths[i] ?? 0) - textWidth(cell)))
      return styles[i]?.(wide) ?? wide
    })
    const line = cells.join('  ').trimEnd()
    return stdout.isTTY ? cutToWidth(line, stdout.columns ?? 80) : line
  })
}
