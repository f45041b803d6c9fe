import { show } from '../core/behavior.ts'
import { type Clock, systemClock } from '../core/clock.ts'
import { didYouMean } from '../core/nearest.ts'
import type { Lease, SessionQuery, SessionStore, SessionSummary } from '../core/store.ts'
import { isPersistent } from './agent-states.ts'
import { descendantsOf } from './family.ts'
import { eachSession } from './session-query.ts'
import { removeUnusedBlobs } from './unused-blobs.ts'
import { whileHeld } from './while-held.ts'

/**
 * Deletes sessions that are too old, too many or too large together, with their children, and then the blobs that no entry
 * names. Keeps sessions that are at work, wait for a person, have mail or are held by a process, agents and
 * schedules of a workflow that are not closed, and webhooks.
 */
export async function pruneSessions(
  store: SessionStore,
  options: Pick<SessionQuery, 'tags' | 'tenant' | 'kind' | 'folder'> & {
    /** Delete sessions that were last written longer ago than this. */
    readonly maxAgeMs?: number
    /** Keep at most this many sessions: those that were written last. */
    readonly maxSessions?: number
    /** Keep sessions of at most this many bytes together: those that were written last, and at least one. */
    readonly maxBytes?: number
    /** Keep all sessions that have one of these tags. */
    readonly keepTags?: readonly string[]
    /** Delete nothing, and report what would be deleted. */
    readonly dryRun?: boolean
    /** Called before a session is deleted, to delete what else belongs to it. */
    readonly onDelete?: (session: SessionSummary, descendants: readonly SessionSummary[]) => Promise<void> | void
    /** Look for unused blobs only in sessions that were written since this time. Default 0: in all. */
    readonly blobsSince?: number
    readonly clock?: Clock
  } = {},
): Promise<{
  /** The sessions that were deleted, without their children. */
  readonly sessions: readonly SessionSummary[]
  /** The approximate size of their entries, children included. */
  readonly bytes: number
  /** How many blobs were removed that no entry names. */
  readonly blobs: number
  /** How many sessions were kept although they are beyond a limit: in use, or kept by a tag. */
  readonly kept: number
}> {
  checkOptions(options)
  const { dryRun = false, onDelete, clock = systemClock, blobsSince = 0 } = options
  const sessions: SessionSummary[] = []
  let bytes = 0
  let kept = 0
  for await (const session of beyondLimits(store, options, clock.now())) {
    const isWanted = isInUse(session) || isKept(session, options)
    const descendants = isWanted ? [] : await descendantsOf(store, session.id)
    const how = { isMeant: isUnchanged(session), before: () => onDelete?.(session, descendants) }
    const isDeleted = !isWanted && (dryRun || (await deleteUnlessHeld(store, session.id, how)))
    if (!isDeleted) kept++
    else {
      sessions.push(session)
      for (const one of [session, ...descendants]) bytes += one.bytes
    }
  }
  const gone = new Set(dryRun ? sessions.map(({ id }) => id) : [])
  const blobs = await removeUnusedBlobs(store, { since: blobsSince, dryRun, skip: gone })
  return { sessions, bytes, blobs, kept }
}

export type PruneOptions = NonNullable<Parameters<typeof pruneSessions>[1]>

/** The sessions that a limit excludes. The last written come first. */
async function* beyondLimits(store: SessionStore, options: PruneOptions, now: number): AsyncGenerator<SessionSummary> {
  const { maxAgeMs, maxSessions, maxBytes, tags, tenant, kind, folder } = options
  const query: SessionQuery = {
    parent: null,
    ...(tags && { tags }),
    ...(tenant !== undefined && { tenant }),
    ...(kind !== undefined && { kind }),
    ...(folder !== undefined && { folder }),
  }
  const oldest = maxAgeMs === undefined ? Number.NEGATIVE_INFINITY : now - maxAgeMs
  if (maxSessions === undefined && maxBytes === undefined) {
    if (maxAgeMs !== undefined) yield* eachSession(store, { ...query, updatedBefore: oldest })
    return
  }
  const below = maxBytes === undefined ? new Map<string, number>() : await bytesBelow(store)
  let count = 0
  let size = 0
  for await (const session of eachSession(store, query)) {
    count++
    size += session.bytes + (below.get(session.id) ?? 0)
    const isTooMuch = count > (maxSessions ?? count) || (count > 1 && size > (maxBytes ?? size))
    if (isTooMuch || session.updatedAt < oldest) yield session
  }
}

/** The sizes of all descendants, by the id of the session at the root. */
async function bytesBelow(store: SessionStore): Promise<ReadonlyMap<string, number>> {
  const parents = new Map<string, string>()
  const sizes = new Map<string, number>()
  for await (const { id, parent, bytes } of eachSession(store)) {
    if (parent === undefined) continue
    parents.set(id, parent)
    sizes.set(id, bytes)
  }
  const below = new Map<string, number>()
  for (const [id, bytes] of sizes) {
    let root = parents.get(id)!
    const seen = new Set<string>() // an imported log may make two sessions parents of each other
    for (let above = parents.get(root); above !== undefined && !seen.has(root); above = parents.get(root)) {
      seen.add(root)
      root = above
    }
    below.set(root, (below.get(root) ?? 0) + bytes)
  }
  return below
}

function isInUse({ status, attention, isHeld }: SessionSummary): boolean {
  return (
    isHeld === true || status === 'working' || status === 'waiting' || attention === 'mail' || attention === 'answered'
  )
}

function isKept(session: SessionSummary, { keepTags = [] }: PruneOptions): boolean {
  return isPersistent(session) || session.tags.some((tag) => keepTags.includes(tag))
}

/** Deletes a session that no process holds, unless `isMeant` says otherwise of what is there by then. */
export async function deleteUnlessHeld(
  store: SessionStore,
  id: string,
  { isMeant, before }: { readonly isMeant: (lease: Lease) => boolean; readonly before?: () => unknown },
): Promise<boolean> {
  const isDeleted = await whileHeld(store, id, async (lease) => {
    if (!isMeant(lease)) return false
    await before?.()
    await store.delete(id)
    return true
  })
  return isDeleted ?? false
}

/** Whether a session is as its summary says, and has no mail. */
export const isUnchanged =
  ({ head }: Pick<SessionSummary, 'head'>) =>
  (lease: Lease): boolean =>
    lease.head === head && lease.inbox.length === 0

const optionNames: Readonly<Record<keyof PruneOptions, 'number' | 'other'>> = {
  ...{ maxAgeMs: 'number', maxSessions: 'number', maxBytes: 'number', blobsSince: 'number' },
  ...{ tags: 'other', tenant: 'other', kind: 'other', folder: 'other', keepTags: 'other' },
  ...{ dryRun: 'other', onDelete: 'other', clock: 'other' },
}

/** A misspelt limit would delete nothing, or too much. */
function checkOptions(options: PruneOptions): void {
  for (const [name, value] of Object.entries(options)) {
    if (!Object.hasOwn(optionNames, name))
      throw new TypeError(`pruneSessions has no option "${name}"${didYouMean(name, Object.keys(optionNames))}`)
    const isNumber = optionNames[name as keyof PruneOptions] === 'number'
    if (isNumber && value !== undefined && !(typeof value === 'number' && value >= 0))
      throw new TypeError(`pruneSessions option "${name}" must be a number of at least 0, got ${show(value)}`)
  }
}
