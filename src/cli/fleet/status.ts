import type { FleetStatus, WorkerInfo } from '../../durable/fleet.ts'
import { visibleName } from '../../platform/visible-text.ts'
import { exitCodes } from '../cli-error.ts'
import type { Io } from '../io.ts'
import { table } from '../table.ts'
import { jsonText } from '../text.ts'
import { loadFleet } from './load-fleet.ts'

/** `libero fleet status`: workers, sessions by state, jobs and limits. */
export async function status(
  { config, json }: { readonly config: string; readonly json: boolean },
  io: Io,
): Promise<number> {
  const fleet = await loadFleet(config, io)
  try {
    const found = await fleet.status()
    if (json) io.out(jsonText(found))
    else for (const line of linesOf(found)) io.out(line)
    if (found.workers.length === 0)
      io.err(`libero: no worker runs; start one with: libero worker --config ${visibleName(config)}`)
    return exitCodes.done
  } finally {
    await fleet.close()
  }
}

function linesOf({ workers, sessions, jobs, limits }: FleetStatus): string[] {
  const now = Date.now()
  const all = table(['worker', 'state', 'runs', 'takeovers', 'version', 'kinds', 'address', 'beat'], workers, {
    row: (worker) => rowOf(worker, now),
    below: () => [],
  })
  const states = Object.entries(sessions).map(([state, count]) => `${count}${count === 1000 ? '+' : ''} ${state}`)
  return [
    ...(workers.length > 0 ? [...all, ''] : []),
    `sessions  ${states.join(', ')}`,
    ...(jobs
      ? [
          `jobs      ${jobs.waiting} waiting${ageOf(jobs.oldestDueAt, now)}, ${jobs.claimed} claimed, ${jobs.later} for later`,
        ]
      : []),
    ...limitLines('tenants', Object.entries(limits.tenants ?? {})),
    ...limitLines(
      'providers',
      Object.entries(limits.providers ?? {}).map(([key, { requestsPerMinute }]) => [
        key,
        `${requestsPerMinute} a minute`,
      ]),
    ),
  ]
}

function rowOf(worker: WorkerInfo, now: number): string[] {
  const { id, state, running, slots, takeovers, version, kinds, address = '-', beatAt } = worker
  const cells = [id.slice(0, 8), state, `${running}/${slots}`, takeovers, version || '-', kinds.join(','), address]
  return [...cells.map((cell) => visibleName(String(cell))), `${Math.max(0, Math.round((now - beatAt) / 1000))} s ago`]
}

const ageOf = (at: number | undefined, now: number): string =>
  at === undefined ? '' : ` (the oldest for ${Math.max(0, Math.round((now - at) / 1000))} s)`

const limitLines = (name: string, entries: readonly (readonly [string, unknown])[]): string[] =>
  entries.length === 0
    ? []
    : [`${name.padEnd(9)} ${entries.map(([key, limit]) => `${visibleName(key)}: ${limit}`).join(', ')}`]
