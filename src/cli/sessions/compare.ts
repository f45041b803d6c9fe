import type { LogEntry } from '../../core/log.ts'
import type { SessionStore } from '../../core/store.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import { descendantsOf } from '../../sessions/family.ts'
import { loadSession } from '../../sessions/session.ts'
import type { ChangedFile } from '../../snapshots/changed-files.ts'
import { RollbackRefusedError } from '../../snapshots/rollback-error.ts'
import { Timeline } from '../../snapshots/timeline.ts'
import { formatCost, formatCount, formatDate, formatDuration, pluralize } from '../../tui/rows/format.ts'
import { cutToWidth, textWidth } from '../../tui/terminal/text-width.ts'
import { emptyView, foldEntries, type SessionView } from '../../view/session-view.ts'
import { CliError, exitCodes } from '../cli-error.ts'
import type { Io } from '../io.ts'
import { jsonText } from '../text.ts'
import { findSession } from './find-session.ts'
import { type SessionArgs, withStore } from './open-store.ts'
import { openSnapshots } from './rewind.ts'
import { statusLabel } from './status-label.ts'
import { totalsOf } from './transcript-view/totals.ts'

/** What a session did after the entries that it has in common with another one. Sub-agents count for tokens and cost. */
interface Side {
  readonly id: string
  readonly title: string
  readonly status: string
  /** In the conversation, as they are now. */
  readonly messages: number
  readonly answers: number
  readonly calls: number
  readonly tokens: number
  /** In dollars; absent if no price is known. */
  readonly cost?: number
  /** The time of its runs that have ended. */
  readonly workedMs: number
  /** The files that its work changed; absent if they were not kept. */
  readonly files?: readonly ChangedFile[]
  readonly whyNoFiles?: string
}

/** `libero sessions compare`: two copies of a session, from the last entry on that both have. */
export async function compare({ words, values }: SessionArgs<{ readonly json?: boolean }>, io: Io): Promise<number> {
  if (words.length !== 2) throw new CliError('libero sessions compare takes the ids of two sessions', exitCodes.usage)
  return withStore(io, async (store) => {
    const ids = await Promise.all(words.map((word) => findSession(store, word)))
    const [one, other] = await Promise.all(ids.map((id) => store.read(id)))
    const common = one!.slice(0, commonLength(one!, other!))
    const last = common.at(-1)
    if (!last) {
      const [first, second] = ids.map((id) => fullyVisible(id))
      throw new CliError(`Sessions ${first} and ${second} have no entry in common: neither is a copy of the other one`)
    }
    const before = foldEntries(emptyView, common)
    const sides: Side[] = []
    for (const [i, log] of [one!, other!].entries())
      sides.push(await sideOf({ store, id: ids[i]!, before, last, own: log.slice(common.length) }, io))
    if (values.json) io.out(jsonText({ common: { seq: last.seq, at: last.at }, sessions: sides }))
    else for (const line of tableOf(sides, last)) io.out(line)
    return exitCodes.done
  })
}

/** A copy has the entries of its original, with their ids. */
function commonLength(one: readonly LogEntry[], other: readonly LogEntry[]): number {
  const at = one.findIndex(({ id }, i) => id !== other[i]?.id)
  return at < 0 ? one.length : at
}

interface Compared {
  readonly store: SessionStore
  readonly id: string
  /** After the entries in common, of which `last` is the last one. */
  readonly before: SessionView
  readonly last: LogEntry
  readonly own: readonly LogEntry[]
}

async function sideOf({ store, id, before, last, own }: Compared, io: Io): Promise<Side> {
  let view = before
  let workedMs = 0
  for (const entry of own) {
    // A fork that was made during a run ends that run, in which it did nothing.
    if (entry.type === 'run_ended' && entry.stop !== 'forked' && view.run)
      workedMs += entry.at - Math.max(view.run.startedAt, last.at)
    view = foldEntries(view, [entry])
  }
  const summary = (await store.find(id))!
  const children = (await descendantsOf(store, id)).filter(({ createdAt }) => createdAt >= last.at)
  const [used, usedBefore] = [totalsOf(view.usage), totalsOf(before.usage)]
  const sum = (values: readonly number[]): number => values.reduce((all, value) => all + value, 0)
  const cost = (used.cost ?? 0) - (usedBefore.cost ?? 0) + sum(children.map((child) => child.cost))
  const rows = [...view.rows].filter(({ seq }) => seq > last.seq)
  return {
    ...{ id, title: summary.title ?? '', status: statusLabel(summary) },
    messages: rows.filter((row) => row.kind === 'message' && !row.isNote).length,
    answers: rows.filter(({ kind }) => kind === 'answer').length,
    calls: rows.filter(({ kind }) => kind === 'call').length,
    tokens: used.input + used.output - usedBefore.input - usedBefore.output + sum(children.map(({ tokens }) => tokens)),
    ...((used.cost !== undefined || cost > 0) && { cost }),
    workedMs,
    ...(await filesOf(store, id, last.seq, io)),
  }
}

async function filesOf(store: SessionStore, id: string, after: number, io: Io): Promise<Partial<Side>> {
  const session = await loadSession(store, id)
  const { snapshots } = await openSnapshots(await Timeline.read(session.entries()), io)
  try {
    return { files: await snapshots.changedFiles(session, { after }) }
  } catch (error) {
    if (error instanceof RollbackRefusedError) return { whyNoFiles: error.message }
    throw error
  } finally {
    await snapshots.close()
  }
}

function tableOf(sides: readonly Side[], { seq, at }: LogEntry): string[] {
  const paths = new Set(sides.flatMap(({ files = [] }) => files.map(({ path }) => path)))
  const row = (name: string, of: (side: Side) => string): string =>
    [padded(name, nameWidth), ...sides.map((side) => padded(of(side), cellWidth))].join('  ').trimEnd()
  const count = (name: string, of: (side: Side) => number): string => row(name, (side) => formatCount(of(side)))
  return [
    `${pluralize(seq, 'entry')} in common, until ${formatDate(at)}; after that:`,
    row('session', ({ id }) => id),
    row('title', ({ title }) => title),
    row('status', ({ status }) => status),
    count('messages', ({ messages }) => messages),
    count('answers', ({ answers }) => answers),
    count('calls', ({ calls }) => calls),
    count('tokens', ({ tokens }) => tokens),
    row('cost', ({ cost }) => (cost === undefined ? 'unknown' : formatCost(cost))),
    row('worked', ({ workedMs }) => formatDuration(workedMs)),
    row('files', ({ files }) => (files ? formatCount(files.length) : 'not kept')),
    ...[...paths].toSorted().map((path) => row(`  ${path}`, ({ files }) => changeOf(files, path))),
    ...sides.flatMap(({ id, whyNoFiles }) =>
      whyNoFiles === undefined ? [] : [fullyVisible(`Files of ${id}: ${whyNoFiles}`)],
    ),
  ]
}

const nameWidth = 24
const cellWidth = 30

function padded(text: string, width: number): string {
  const cut = cutToWidth(fullyVisible(text), width)
  return cut + ' '.repeat(width - textWidth(cut))
}

/** `added +4`, `changed +2 −1`, or nothing. */
function changeOf(files: Side['files'], path: string): string {
  const file = files?.find((one) => one.path === path)
  if (!file) return ''
  const { kind, added = 0, removed = 0 } = file
  return [kind, ...(added > 0 ? [`+${added}`] : []), ...(removed > 0 ? [`−${removed}`] : [])].join(' ')
}
