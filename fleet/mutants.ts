import { checkPatches, type Patch } from '../crash/plant.ts'
import type { PartName } from './parts.ts'

const store = 'sessions/postgres-store.ts'
const recovery = 'sessions/crash-recovery.ts'

export interface Mutant {
  readonly name: string
  readonly patches: readonly Patch[]
  /** The part that must notice it, and how much of that part is run. */
  readonly part: PartName
  readonly size?: number
}

/**
 * Bugs that the harness must notice; otherwise it proves nothing. This file loads no sources: a worker loads it before them.
 */
export const mutants: readonly Mutant[] = [
  {
    name: 'lease not fenced',
    patches: [
      {
        file: store,
        find: '$4::text, $5::bigint, $6::bigint,\n  $7',
        replace: `$4::text,
  coalesce((select held.epoch from \${schema}.lease as held join \${schema}.session on session.key = held.session
    where session.id = $2::text and $5::text is not null), 0),
  coalesce((select head from \${schema}.session where id = $1::text and $6::text is not null), 0),\n  $7`,
      },
    ],
    part: 'pauses',
    size: 0.3, // a worker that comes back often notices that its lease is lost before it writes
  },
  {
    name: 'reconciler off',
    patches: [{ file: 'durable/reconciler.ts', find: 'if (this.#isStopped) return\n', replace: 'return\n' }],
    part: 'jobs',
    size: 0.4, // jobs are deleted every five seconds
  },
  {
    name: 'notify lost',
    patches: [
      {
        file: 'durable/dispatchers/wake-notices.ts',
        find: 'const heard = (): void => this.#call()',
        replace: 'const heard = (): void => {}',
      },
    ],
    part: 'waiting',
    size: 0.01,
  },
  {
    name: 'double claim',
    patches: [
      { file: 'durable/run-session.ts', find: 'if (summary.isHeld) return lookAgain()', replace: '' },
      {
        file: 'durable/run-session.ts',
        find: 'const hasReason = attention && !(',
        replace: 'const hasReason = (attention || summary.isHeld) && !(',
      },
      { file: 'durable/run-session.ts', find: '{ leaseMs, clock,', replace: '{ leaseMs, takeOver: true, clock,' },
    ],
    part: 'kills',
  },
  {
    name: 'inbox read without transaction',
    patches: [
      {
        file: store,
        find: "failpoint('postgres.append.before', entries)",
        replace: `if (keys.length > 0) {
        await tables.write(\`update \${schema}.inbox set body = null where client_key = any ($1::text::text[])\`, [rows[2]])
        await new Promise((resolve) => setTimeout(resolve, 1000))
      }`,
      },
    ],
    part: 'kills', // a kill must fall into that second
  },
  {
    name: 'park on first death',
    patches: [
      { file: recovery, find: 'const maxCrashes = 3', replace: 'const maxCrashes = 1' },
      {
        file: recovery,
        find: 'const isShared = !hasStoreFailed && sessionCountOfDeadProcess > 1',
        replace: 'const isShared = false',
      },
    ],
    part: 'kills',
  },
  {
    name: 'deaths among others count',
    patches: [
      {
        file: recovery,
        find: 'const isShared = !hasStoreFailed && sessionCountOfDeadProcess > 1',
        replace: 'const isShared = false',
      },
    ],
    part: 'poison',
    size: 1, // with fewer poisoned sessions, too few others die with them three times
  },
  {
    name: 'tenant limit ignored',
    patches: [{ file: 'durable/worker.ts', find: 'tenantLimits: limits.tenants ?? {}', replace: 'tenantLimits: {}' }],
    part: 'tenants',
  },
  {
    name: 'drain kills',
    patches: [
      { file: 'durable/worker.ts', find: "this.#state = 'draining'", replace: "process.kill(process.pid, 'SIGKILL')" },
    ],
    part: 'drains',
  },
]

/** Throws if a patch no longer matches the sources. */
export function checkMutants(): void {
  checkPatches(mutants.flatMap(({ patches }) => patches))
}
