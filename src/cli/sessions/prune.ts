import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { StoreError } from '../../core/errors.ts'
import type { SessionStore, SessionSummary } from '../../core/store.ts'
import { readTextIfThere, writeFileAtomic } from '../../platform/files.ts'
import { fullyVisible, visibleName } from '../../platform/visible-text.ts'
import { type PruneOptions, pruneSessions } from '../../sessions/prune.ts'
import type { SqliteStore } from '../../sessions/sqlite-store.ts'
import { removeUnusedBlobs } from '../../sessions/unused-blobs.ts'
import { formatSize, pluralize, timeAgo } from '../../tui/rows/format.ts'
import { confirm, requireTerminal } from '../agents/confirm.ts'
import { exitCodes } from '../cli-error.ts'
import { type Config, loadConfig } from '../config/config.ts'
import type { Io } from '../io.ts'
import { jsonText } from '../text.ts'
import { deleteWhole } from './delete-whole.ts'
import { type SessionArgs, sessionsPath, withStore } from './open-store.ts'
import { limitsSessions, readAge, readSize, retentionOptions } from './retention.ts'
import { titlesFor } from './session-title.ts'

type PruneArgs = SessionArgs<{
  readonly 'older-than'?: string
  readonly keep?: string
  readonly 'max-size'?: string
  readonly tag?: readonly string[]
  readonly 'keep-tag'?: readonly string[]
  readonly 'dry-run'?: boolean
  readonly yes?: boolean
  readonly json?: boolean
}>

/** `libero sessions prune`: shows what would be deleted, asks, and deletes exactly that. */
export async function prune({ values }: PruneArgs, io: Io): Promise<number> {
  const isDry = values['dry-run'] === true
  if (!isDry && !values.yes) requireTerminal(io, 'sessions prune asks before it deletes')
  const { config } = await loadConfig({ home: io.home })
  const options = optionsOf(values, config)
  return withStore(io, async (store) => {
    const found = await pruneSessions(store, { ...options, dryRun: true })
    if (isDry && values.json) {
      const sessions = found.sessions.map(({ id, updatedAt, bytes }) => ({ id, updatedAt, bytes }))
      io.out(jsonText({ ...found, sessions }))
      return exitCodes.done
    }
    for (const line of linesOf(found.sessions, io)) io.out(line)
    io.err(whatOf(found, options))
    const isNothing = found.sessions.length === 0 && found.blobs === 0
    if (isDry || isNothing) return exitCodes.done
    if (!values.yes && !(await confirm(`Delete ${amountOf(found)} for good?`, io))) {
      io.err('Nothing was deleted')
      return exitCodes.done
    }
    const deleted = await deleteWhole(store, found.sessions, { io, which: 'unchanged' })
    const blobs = await removeUnusedBlobs(store, { since: 0, dryRun: false, skip: new Set() })
    io.err(`Deleted ${amountOf({ sessions: deleted, blobs })}`)
    await shrink(store, sessionsPath(config, io), io)
    return exitCodes.done
  })
}

/** Gives the space back, if the store can: SQLite would use it for new sessions only. */
async function shrink(store: SessionStore, path: string, io: Io): Promise<void> {
  if (!('compact' in store)) return
  const sizeOf = async (): Promise<number> => (await stat(path)).size
  const before = await sizeOf()
  try {
    await (store as SqliteStore).compact()
    io.err(`${visibleName(path)} has ${formatSize(await sizeOf())}, before ${formatSize(before)}`)
  } catch (error) {
    if (!(error instanceof StoreError) || error.code !== 'busy') throw error
    io.err(`${visibleName(path)} keeps its size, because another program uses it; new sessions use the free space`)
  }
}

/** Flags override the settings one by one. */
function optionsOf(values: PruneArgs['values'], { retention = {} }: Pick<Config, 'retention'>): PruneOptions {
  const { 'older-than': olderThan, keep, 'max-size': maxSize, tag, 'keep-tag': keepTag } = values
  const hasLimit = [olderThan, keep, maxSize].some((one) => one !== undefined)
  const { keepTags, ...limits } = retentionOptions(retention)
  return {
    ...(!hasLimit && limits),
    ...(olderThan !== undefined && { maxAgeMs: readAge(olderThan, '--older-than') }),
    ...(keep !== undefined && { maxSessions: Number(keep) }),
    ...(maxSize !== undefined && { maxBytes: readSize(maxSize, '--max-size') }),
    ...(tag && { tags: tag }),
    ...((keepTag ?? keepTags) && { keepTags: keepTag ?? keepTags! }),
  }
}

type Found = Awaited<ReturnType<typeof pruneSessions>>

const mostShown = 20

function linesOf(sessions: readonly SessionSummary[], { env }: Io): string[] {
  const title = titlesFor(env)
  const now = Date.now()
  const lines = sessions
    .slice(0, mostShown)
    .map((one) => `${fullyVisible(one.id)}  ${timeAgo(one.updatedAt, now)}  ${formatSize(one.bytes)}  ${title(one)}`)
  const more = sessions.length - lines.length
  return more > 0 ? [...lines, `… and ${pluralize(more, 'more session')}`] : lines
}

function whatOf(found: Found, { maxAgeMs, maxSessions, maxBytes }: PruneOptions): string {
  const { sessions, bytes, blobs, kept } = found
  const inUse = kept === 0 ? '' : `; ${pluralize(kept, 'session')} beyond the limits would be kept: in use, or by a tag`
  const hasLimit = [maxAgeMs, maxSessions, maxBytes].some((one) => one !== undefined)
  const limits = hasLimit ? '' : '; no limit is set, give --older-than, --keep or --max-size'
  if (sessions.length === 0 && blobs === 0) return `There is nothing to delete${inUse}${limits}`
  return `${amountOf(found)}, ${formatSize(bytes)}${inUse}${limits}`
}

function amountOf({ sessions, blobs }: Pick<Found, 'sessions' | 'blobs'>): string {
  const unused = blobs === 0 ? [] : [pluralize(blobs, 'unused blob')]
  return [...(sessions.length === 0 && blobs > 0 ? [] : [pluralize(sessions.length, 'session')]), ...unused].join(
    ' and ',
  )
}

const dayMs = 86_400_000

/**
 * After a run: deletes what the settings say, at most once a day, and tells how much that was. Does nothing without
 * limits in the settings. A failure is reported and changes nothing about the run.
 */
export async function pruneDaily(store: SessionStore, { retention = {} }: Config, io: Io): Promise<void> {
  if (!limitsSessions(retention)) return
  const stamp = join(io.home, 'last-prune')
  const now = Date.now()
  const last = Number((await readTextIfThere(stamp).catch(() => undefined)) ?? 0)
  if (now - last < dayMs) return
  try {
    await writeFileAtomic(stamp, String(now)) // first, so that of several processes mostly one works
    const options = retentionOptions(retention)
    const { sessions } = await pruneSessions(store, { ...options, dryRun: true, blobsSince: Number.POSITIVE_INFINITY })
    const deleted = await deleteWhole(store, sessions, { io, which: 'unchanged' })
    const blobs = await removeUnusedBlobs(store, { since: last, dryRun: false, skip: new Set() })
    if (deleted.length + blobs > 0)
      io.err(`Deleted ${amountOf({ sessions: deleted, blobs })}, as the setting retention says`)
  } catch (error) {
    const { explainFailure } = await import('../explain-failure.ts')
    io.err(`Old sessions were not deleted: ${explainFailure(error, { env: io.env }).message}`)
  }
}
