import { sendTasks } from './kills.ts'
import { sourcesAt } from './other-sources.ts'
import { nothing, type PartOptions, type PartResult, resultOf } from './part.ts'
import { Trial } from './trial.ts'

/** The last commit without a fleet. */
const before = '91ec76d6'

/** A process of the version before works on the same sessions as workers of this one. */
export async function oldBesideNew(options: PartOptions): Promise<PartResult> {
  const { server, engine, cache, size } = options
  const sources = sourcesAt(before)
  if (!sources) return { ...nothing, shown: `NOT RUN: no history with ${before}` }
  const trial = await new Trial({ url: server.url(), engine, cache, thinkMs: 100 }).prepare()
  try {
    const workers = [trial.start(), trial.start(), trial.start({ sources: sources.folder })]
    await Promise.all(workers.map(({ ready }) => ready))
    await sendTasks(trial, Math.max(20, Math.round(150 * size)))
    const isSettled = await trial.settled()
    const said = workers
      .filter(({ stderr }) => stderr !== '')
      .map(({ name, stderr }) => `${name} said: ${stderr.slice(0, 300)}`)
    const rows = await trial.admin.unsafe(
      `select worker, count(*)::int as count from "${trial.schema}".effect group by worker order by worker`,
    )
    const shares = rows.map(({ worker, count }) => `${worker} ${count}`).join(', ')
    const isIdle = rows.length < workers.length ? [`not every worker had a task: ${shares}`] : []
    const result = await resultOf(trial, { isSettled, failures: [...said, ...isIdle] })
    return { ...result, shown: `${before} beside this version: ${result.shown}; tasks by worker: ${shares}` }
  } finally {
    await trial.close()
    sources.remove()
  }
}
