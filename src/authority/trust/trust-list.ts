import { join, resolve } from 'node:path'
import type { Clock } from '../../core/clock.ts'
import { CodedError, messageOf } from '../../core/errors.ts'
import { isRecord } from '../../core/is-record.ts'
import { writeFileAtomic } from '../../platform/files.ts'
import { withLock } from '../../platform/lock.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import { readPrivateFile } from '../private-file.ts'
import {
  identifyProject,
  isSameProject,
  type ProjectIdentity,
  realPathOrSame,
  whyUntrustable,
} from './project-identity.ts'

/** The decision about a project. */
export interface TrustEntry extends ProjectIdentity {
  readonly decision: 'trusted' | 'declined'
  /** An ISO date. */
  readonly grantedAt: string
  readonly schemaVersion: 1
  readonly note?: string
  readonly items?: Readonly<Record<string, string>>
}

type Decided = TrustEntry['decision'] | undefined

/** The decisions of one person about projects. */
export interface TrustList {
  readonly path: string
  /** The decision about exactly this folder. Parent folders, subfolders and earlier folders at its path do not count. */
  lookup(path: string): Promise<TrustEntry | undefined>
  /** Trusts a folder. A trusted folder keeps its date; `items` replace the earlier ones. */
  trust(
    path: string,
    given?: { readonly items?: Readonly<Record<string, string>>; readonly note?: string },
  ): Promise<TrustEntry>
  /** Adds trusted items, unless trust was revoked meanwhile: then returns undefined. */
  amend(path: string, items: Readonly<Record<string, string>>): Promise<TrustEntry | undefined>
  decline(path: string): Promise<TrustEntry>
  /** Revokes trust, also for a folder that no longer exists. Returns whether there was any. */
  revoke(path: string): Promise<boolean>
  list(): Promise<readonly TrustEntry[]>
  /** Why a folder can never be trusted; undefined if it can. */
  refusal(path: string): Promise<string | undefined>
  /**
   * Calls `listener` within seconds when the decision about a folder differs from `since`. A list that cannot be read
   * counts as empty. Returns a function that stops watching.
   */
  watch(path: string, since: Decided, listener: (now: Decided) => void): () => void
}

const pollMs = 2000

/** The decisions about projects in `<folder>/trust.json`, in the user's own configuration folder. */
export function createTrustList({
  folder,
  clock = idleClock,
}: {
  readonly folder: string
  readonly clock?: Clock
}): TrustList {
  const file = createTrustFile(resolve(folder))
  const stamp = () => ({ grantedAt: new Date(clock.now()).toISOString(), schemaVersion: 1 }) as const

  async function lookup(path: string): Promise<TrustEntry | undefined> {
    const project = await identifyProject(path)
    if (await whyUntrustable(project, folder)) return undefined
    return currentOf(await file.read(), project)
  }

  /** Replaces the current entry if the decision is the same; otherwise appends. */
  function record(
    project: ProjectIdentity,
    next: (current: TrustEntry | undefined) => TrustEntry,
  ): Promise<TrustEntry> {
    return file.change((entries) => {
      const current = currentOf(entries, project)
      const result = next(current)
      if (result.decision !== current?.decision) return { result, entries: [...entries, result] }
      return { result, entries: entries.with(entries.indexOf(current), result) }
    })
  }

  return {
    path: file.path,
    lookup,
    async trust(path, { items, note } = {}) {
      const project = await identifyProject(path)
      const reason = await whyUntrustable(project, folder)
      if (reason) throw scopeViolation(project, reason)
      return record(project, (current) => {
        const earlier = current?.decision === 'trusted' ? current : undefined
        const given = { ...(note !== undefined && { note }), ...(items && { items }) }
        return { ...project, ...stamp(), ...earlier, decision: 'trusted', ...given }
      })
    },
    async amend(path, items) {
      const project = await identifyProject(path)
      return file.change((entries) => {
        const current = currentOf(entries, project)
        if (current?.decision !== 'trusted') return { result: undefined }
        const result = { ...current, items: { ...current.items, ...items } }
        return { result, entries: entries.with(entries.indexOf(current), result) }
      })
    },
    async decline(path) {
      const project = await identifyProject(path)
      return record(project, (current) =>
        current?.decision === 'declined' ? current : { ...project, ...stamp(), decision: 'declined' },
      )
    },
    async revoke(path) {
      const canonicalPath = await realPathOrSame(path)
      return file.change((entries) => {
        const current = newestAt(entries, canonicalPath)
        if (current?.decision !== 'trusted') return { result: false }
        const { device, inode } = current
        return {
          result: true,
          entries: [...entries, { canonicalPath, device, inode, ...stamp(), decision: 'declined' }],
        }
      })
    },
    list: () => file.read(),
    refusal: async (path) => whyUntrustable(await identifyProject(path), folder),
    watch(path, since, listener) {
      let seen = since
      let stopped = false
      let cancelTimer = clock.timer(pollMs, poll)
      function poll(): void {
        lookup(path)
          .catch(() => undefined)
          .then((now) => {
            if (stopped) return
            cancelTimer = clock.timer(pollMs, poll)
            if (now?.decision === seen) return
            seen = now?.decision
            listener(seen)
          })
      }
      return () => {
        stopped = true
        cancelTimer()
      }
    },
  }
}

/** A clock whose timers do not keep the process alive. */
const idleClock: Clock = {
  now: Date.now,
  timer(ms, fn) {
    const id = setTimeout(fn, ms)
    id.unref()
    return () => clearTimeout(id)
  },
}

function currentOf(entries: readonly TrustEntry[], project: ProjectIdentity): TrustEntry | undefined {
  const newest = newestAt(entries, project.canonicalPath)
  return newest && isSameProject(newest, project) ? newest : undefined
}

function newestAt(entries: readonly TrustEntry[], canonicalPath: string): TrustEntry | undefined {
  return entries.findLast((entry) => entry.canonicalPath === canonicalPath)
}

function scopeViolation({ canonicalPath }: ProjectIdentity, reason: string): CodedError {
  return new CodedError(
    'Validation/TrustScopeViolation',
    `${fullyVisible(canonicalPath)} cannot be trusted as a project: ${reason}; start in the folder of a project`,
  )
}

/**
 * The file `trust.json` in a folder, which is created on the first write. A file that others could have written, or that
 * is invalid, is neither used nor changed.
 */
function createTrustFile(folder: string) {
  const path = join(folder, 'trust.json')
  async function read(): Promise<readonly TrustEntry[]> {
    const text = await readOwn(path)
    return text === undefined ? [] : entriesIn(text, path)
  }
  return {
    path,
    read,
    /** Reads, edits and replaces the file under a lock. An edit without `entries` leaves it unchanged. */
    async change<T>(
      edit: (before: readonly TrustEntry[]) => { result: T; entries?: readonly TrustEntry[] },
    ): Promise<T> {
      await read() // checks the owner first: a lock file must not be created in a folder of another user
      return withLock(`${path}.lock`, async () => {
        const { result, entries } = edit(await read())
        if (entries) await writeFileAtomic(path, `${JSON.stringify({ entries }, null, 2)}\n`)
        return result
      })
    },
  }
}

async function readOwn(path: string): Promise<string | undefined> {
  try {
    return (await readPrivateFile(path))?.text
  } catch (cause) {
    throw new CodedError('Validation/TrustListUnusable', `${messageOf(cause)}. Until then no project is trusted`, {
      cause,
    })
  }
}

function entriesIn(text: string, path: string): readonly TrustEntry[] {
  let entries: unknown
  try {
    entries = JSON.parse(text)?.entries
  } catch (cause) {
    unusable(path, `is not JSON (${messageOf(cause)})`)
  }
  if (!Array.isArray(entries)) unusable(path, 'has no list of entries')
  const bad = entries.findIndex((entry) => !isEntry(entry))
  if (bad >= 0) unusable(path, `has an entry that this version does not know (number ${bad + 1})`)
  return entries
}

function isEntry(value: unknown): value is TrustEntry {
  if (!isRecord(value)) return false
  const { canonicalPath, device, inode, decision, grantedAt, schemaVersion, note, items } = value
  return (
    [canonicalPath, device, inode, grantedAt].every((field) => typeof field === 'string') &&
    (decision === 'trusted' || decision === 'declined') &&
    schemaVersion === 1 &&
    (note === undefined || typeof note === 'string') &&
    (items === undefined || (isRecord(items) && Object.values(items).every((digest) => typeof digest === 'string')))
  )
}

function unusable(path: string, what: string): never {
  throw new CodedError(
    'Validation/TrustListUnusable',
    `${path} ${what}, so no project is trusted; correct it by hand, or delete it and decide about your projects again`,
  )
}
