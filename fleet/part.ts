import type { PostgresServer } from '../test/postgres-server.ts'
import { type Verdict, verdictOf } from './check.ts'
import type { Trial } from './trial.ts'
import type { EngineName } from './worker-options.ts'

/** What the parts of the harness share. */
export interface PartOptions {
  readonly server: PostgresServer
  readonly engine: EngineName
  readonly cache: string
  readonly random: () => number
  /** A share of the whole size: 1 for `npm run fleet`, less for a sample. */
  readonly size: number
  readonly kills: number
  readonly sessions: number
  /** With a planted bug no part fails for its times: a busy machine is slow without one. */
  readonly mutant?: string
  readonly progress: (line: string) => void
}

/** What one part has shown. */
export interface PartResult {
  readonly kills?: number
  readonly pauses?: number
  readonly lost: number
  readonly doubled: number
  readonly parkedWrongly: number
  readonly takeovers: readonly number[]
  /** Goals that were missed, and other things that must not happen. */
  readonly failures: readonly string[]
  /** One line for a person. */
  readonly shown: string
}

/** The result of a part that did not run. */
export const nothing: PartResult = {
  ...{ lost: 0, doubled: 0, parkedWrongly: 0, takeovers: [], failures: [], shown: '' },
}

/** The result of a trial whose work is over. `poisoned`: the sessions that must be parked, and no others. */
export async function resultOf(
  trial: Trial,
  {
    isSettled,
    poisoned = [],
    failures = [],
  }: { isSettled: boolean; poisoned?: readonly string[]; failures?: string[] },
): Promise<PartResult & { readonly verdict: Verdict }> {
  const verdict = await verdictOf(trial)
  const { lost, doubled, parked, unknown, takeovers } = verdict
  const isPoison = new Set(poisoned)
  const wrongly = parked.filter((id) => !isPoison.has(id))
  const missed = poisoned.filter((id) => !parked.includes(id))
  const ofOthers = lost.filter((key) => !isPoison.has(key.replace(/\/\d+$/, '')))
  const all = [
    ...failures,
    ...(isSettled ? [] : ['the sessions did not come to rest in time']),
    ...some('lost', ofOthers),
    ...some('doubled', doubled),
    ...some('parked, though it does no harm', wrongly),
    ...some('not parked, though it ends its worker', missed),
    ...some('a problem of the sender', trial.problems),
  ]
  const tasks = `${trial.sent.length} tasks, ${ofOthers.length} lost, ${doubled.length} doubled, ${unknown} of unknown outcome`
  return {
    ...{ lost: ofOthers.length, doubled: doubled.length, parkedWrongly: wrongly.length, takeovers, verdict },
    failures: all,
    shown: `${tasks}, ${parked.length} parked`,
  }
}

const some = (what: string, items: readonly string[]): string[] =>
  items.length === 0 ? [] : [`${items.length} ${what}: ${items.slice(0, 3).join(', ')}`]
