import { checkPatches, type Patch } from './plant.ts'
import type { SceneName } from './scenes.ts'
import type { StoreKind } from './stores.ts'

/** How a mutant is detected: by crashes at these points, or by a scene with several writers. */
export interface Detection {
  /** Default: sqlite. */
  readonly kind?: StoreKind
  readonly points?: readonly (readonly [name: string, hit: number])[]
  readonly scene?: SceneName
}

export interface Mutant extends Detection {
  readonly name: string
  readonly patches: readonly Patch[]
}

const log = 'core/log.ts'
const append = 'sessions/sqlite/append.ts'
const session = 'sessions/leased-log.ts'
const logWriter = 'sessions/jsonl/log-writer.ts'

/** Known bugs of other programs. The harness must detect each of them; otherwise it proves nothing. */
export const mutants: readonly Mutant[] = [
  {
    name: 'ack before commit',
    patches: [
      {
        file: log,
        find: `        failpoint('commit.before', entries)
        await commit(entries)
        failpoint('commit.after', entries)
        for (const entry of entries) this.#apply(entry)`,
        replace: `for (const entry of entries) this.#apply(entry)
        for (const append of group) append.done()
        await new Promise((resolve) => setTimeout(resolve, 2))
        failpoint('commit.before', entries)
        await commit(entries)`,
      },
    ],
    points: [
      ['commit.before:call_result', 1],
      ['commit.before:turn', 2],
    ],
  },
  {
    name: 'message and calls in two transactions',
    patches: [
      {
        file: 'core/model-call.ts',
        find: `await run.log.append({ type: 'turn', turn: sessionTurn, stop })`,
        replace: `const words = content.filter((block) => block.type !== 'tool_call')
        const calls = content.filter((block) => block.type === 'tool_call')
        await run.log.append({ type: 'turn', turn: { ...sessionTurn, id: turnId + '.words', content: words }, stop })
        if (calls.length > 0) await run.log.append({ type: 'turn', turn: { ...sessionTurn, content: calls }, stop })`,
      },
    ],
    points: [['commit.after:turn', 2]],
  },
  {
    name: 'no intent record',
    patches: [
      {
        file: 'core/tool-call.ts',
        find: "const isStartLogged = replay !== 'pure' ||",
        replace: "const isStartLogged = replay === 'keyed' ||",
      },
    ],
    points: [['effect.after:send', 1]],
  },
  {
    name: 're-run of opaque call',
    patches: [
      {
        file: 'sessions/crash-recovery.ts',
        find: `transcript.lastStartOf(id)?.replay === 'opaque'`,
        replace: 'false',
      },
    ],
    points: [['effect.after:send', 1]],
  },
  {
    name: 'no reconcile',
    patches: [{ file: session, find: 'if (entries.length > 0) await this.log.appendAll(entries)', replace: '' }],
    points: [['effect.after:send', 1]],
  },
  {
    name: 'repair only in memory',
    patches: [
      {
        file: session,
        find: 'if (entries.length > 0) await this.log.appendAll(entries)',
        replace: `for (const body of entries) this.log.transcript.apply({ ...body, seq: this.log.head, id: 'memory', at: 0 })`,
      },
    ],
    points: [['effect.after:send', 1]],
  },
  {
    name: 'lease without fence',
    patches: [
      { file: append, find: 'advanceIfCached(database, rows, append) ?? ', replace: '' },
      { file: append, find: 'if (!holderRow?.epoch || holderRow.epoch !== epoch)', replace: 'if (!holderRow)' },
    ],
    scene: 'stopped',
  },
  {
    name: 'a late writer of JSONL is acknowledged',
    patches: [
      {
        file: logWriter,
        find: 'if (performance.now() - this.#checkedAt > recheckAfterMs) this.#options.checkStillWriter()',
        replace: '',
      },
      {
        file: logWriter,
        find: '    this.#options.checkStillWriter()\n    this.#checkedAt',
        replace: '    this.#checkedAt',
      },
    ],
    kind: 'jsonl',
    scene: 'stopped',
  },
  {
    name: 'a log of JSONL that is taken over and not replaced',
    patches: [{ file: 'sessions/jsonl/leases.ts', find: 'await replaceLog(folderOf(id))', replace: '' }],
    kind: 'jsonl',
    scene: 'stopped',
  },
  {
    name: 'wall-clock order',
    patches: [
      {
        file: 'sessions/sqlite/log-reader.ts',
        find: 'AND place < ? ORDER BY place',
        replace: 'AND place < ? ORDER BY at',
      },
    ],
    scene: 'skewed',
  },
  {
    name: 'blob after row',
    patches: [
      {
        file: 'sessions/spill.ts',
        find: 'await store.append(id, storedEntries, fence, { originalEntries: entries, blobs })',
        replace: `await store.append(id, storedEntries, fence, { originalEntries: entries, blobs: [] })
        for (const { bytes } of blobs) await store.blobs(id).put(bytes)`,
      },
    ],
    points: [['sqlite.append.afterCommit:spilled', 1]],
  },
  {
    name: 'seq reuse',
    patches: [
      {
        file: session,
        find: 'else if (!isUpToDate) await this.#addEntriesOfOthers(await this.#readEntriesOfOthers())',
        replace: '',
      },
      { file: append, find: 'advanceIfCached(database, rows, append) ?? ', replace: '' },
      { file: append, find: 'if (row.head !== head && !summaryAtFork) {', replace: 'if (false) {' },
      { file: append, find: 'INSERT INTO entries', replace: 'INSERT OR REPLACE INTO entries' },
    ],
    scene: 'late',
  },
  {
    name: 'an answer to something else counts',
    patches: [{ file: 'core/transcript.ts', find: ' && asked.digest === entry.digest', replace: '' }],
    points: [['effect.after:deploy', 1]],
  },
  {
    name: 'partial attempt kept as answer',
    patches: [
      {
        file: 'core/model-attempts.ts',
        find: 'if (!mayTryAgain) throw error',
        replace: `if (!mayTryAgain) throw error
        return { content: [{ type: 'text', text: draft.text }], usage: { input: 1, output: 1 }, stop: 'end' }`,
      },
    ],
    points: [['commit.after:turn', 3]],
  },
  {
    name: 'summary without the last entry',
    patches: [
      {
        file: append,
        find: 'return applyEntries(summary, content.originalEntries, bytes)',
        replace: `const head = summary.head + content.originalEntries.length
        return { ...applyEntries(summary, content.originalEntries.slice(0, -1), bytes), head }`,
      },
    ],
    points: [['commit.after:turn', 2]],
  },
  {
    name: 'a delivered message that still asks for attention',
    patches: [
      {
        file: 'sessions/sqlite/inbox.ts',
        find: 'database.statement(updateHasMailSql).run(session, session)',
        replace: 'key',
      },
    ],
    scene: 'abandoned',
  },
  {
    name: 'the clock before the process',
    patches: [
      {
        file: 'sessions/sqlite/store-instances.ts',
        find: "return state === 'alive'",
        replace: "return state === 'alive' && expires > this.#now",
      },
    ],
    scene: 'jumped',
  },
  {
    name: 'a run that was left counts as a crash',
    patches: [
      {
        file: 'core/run-lifecycle.ts',
        find: "if (isLeaving(run)) return { status: 'left', stopReason: 'left' }",
        replace: "if (isLeaving(run)) return { status: 'error', stopReason: 'crashed' }",
      },
    ],
    scene: 'left',
  },
  {
    name: 'an opaque call that was left runs again',
    patches: [
      {
        file: 'core/tool-call.ts',
        find: "const isRepeatable = !contextIfBegun || replay !== 'opaque'",
        replace: 'const isRepeatable = true',
      },
    ],
    scene: 'left',
  },
]

/** Throws if a patch no longer matches the sources. */
export function checkMutants(): void {
  checkPatches(mutants.flatMap(({ patches }) => patches))
}
