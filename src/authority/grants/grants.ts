import type { ToolOrigin } from '../../core/authority.ts'
import type { Clock } from '../../core/clock.ts'
import { CodedError } from '../../core/errors.ts'
import { copyJson } from '../../core/turn.ts'
import { type Placement, reaches } from '../confinement.ts'
import { type Grant, isSameGrant, isSameOrigin, ruleKey, whyInvalidGrant } from './grant.ts'

/** What a grant must cover: a call of this tool, from this origin, with this key, in this project and one of these sessions. */
export interface GrantIdentity {
  readonly tool: string
  /** The key of `coveredCalls`. */
  readonly key: string
  readonly origin: ToolOrigin
  /** The session of the call, then its parents, up to the root. */
  readonly sessionIds: readonly string[]
  /** The workspace, all links resolved. */
  readonly project: string
  /** Where its commands would run. Absent for a call that runs none. */
  readonly wanted?: Placement | undefined
  /** Whether the rule of a grant, which a person wrote, covers the call. */
  isCoveredBy?(grant: Grant): boolean
}

/** Stores grants beyond the process. */
export interface GrantStore {
  /** Reads all grants. Rejects if the store cannot be trusted. */
  read(): Promise<readonly Grant[]>
  /** Reads, edits and writes under a lock. Returns the stored grants. */
  change(edit: (grants: readonly Grant[]) => readonly Grant[]): Promise<readonly Grant[]>
}

interface GrantsOptions {
  readonly clock: Clock
  readonly store?: GrantStore
  /** Whether grants for a project are allowed. Default true. */
  readonly projectScope?: boolean
}

/** The stored approvals. Denials are not stored. */
export interface Grants {
  /**
   * A grant that covers the call, from memory: call `load` first. A grant with `bound` is valid only while these files are
   * unchanged: the caller compares them, and revokes it if they changed.
   */
  find(identity: GrantIdentity): Grant | undefined
  add(grant: Omit<Grant, 'grantedAt'>): Promise<void>
  /** Revokes grants and returns their number. Compare with `isSameGrant`: the objects are new after each load. */
  revoke(isMeant: (grant: Grant) => boolean): Promise<number>
  list(): readonly Grant[]
  clearSession(sessionId: string): Promise<void>
  /** Loads changes of other processes; cheap if there are none. If it rejects, no grant counts. */
  load(): Promise<void>
}

/** Creates grants in memory, backed by a store if given. */
export function createGrants({ clock, store = memoryOnly(), projectScope = true }: GrantsOptions): Grants {
  let known: readonly Grant[] = []
  let byName = new Map<string, Grant[]>()
  let last: Promise<unknown> = Promise.resolve()
  let latest = Number.NEGATIVE_INFINITY

  function know(grants: readonly Grant[]): void {
    if (grants === known) return
    known = grants
    byName = Map.groupBy([...grants].sort(byPreference), nameOf)
  }

  /** Runs store operations in order: an older read must not replace a newer one. */
  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = last.then(work)
    last = turn.catch(() => {})
    return turn
  }

  function change(edit: (grants: readonly Grant[]) => readonly Grant[]): Promise<void> {
    return inTurn(async () => know(await store.change(edit)))
  }

  /** A grant that has expired stays expired, even if the clock is set back. */
  function isCurrent({ expiresAt }: Grant): boolean {
    latest = Math.max(latest, clock.now())
    return expiresAt === undefined || latest < expiresAt
  }

  function covers(grant: Grant, identity: GrantIdentity): boolean {
    const { tool, key, origin, sessionIds, project, wanted } = identity
    const isMeant = grant.rule === undefined ? grant.key === key : identity.isCoveredBy?.(grant) === true
    if (grant.tool !== tool || grant.project !== project || !isMeant) return false
    if (wanted !== undefined && !reaches(grant.within, wanted)) return false
    if (!isSameOrigin(grant.origin, origin) || !isCurrent(grant)) return false
    return grant.scope === 'session' ? sessionIds.includes(grant.sessionId!) : projectScope
  }

  async function revoke(isMeant: (grant: Grant) => boolean): Promise<number> {
    let count = 0
    await change((grants) => {
      const kept = grants.filter((grant) => !isMeant(grant))
      count = grants.length - kept.length
      return count > 0 ? kept : grants
    })
    return count
  }

  return {
    find(identity) {
      const keys = [identity.key, ruleKey].map((key) => byName.get(nameOf({ tool: identity.tool, key })) ?? [])
      return keys.flat().find((grant) => covers(grant, identity))
    },
    async add(given) {
      const grant = copyJson({ ...given, grantedAt: clock.now() })
      const flaw = whyInvalidGrant(grant)
      if (flaw !== undefined) throw new TypeError(`This is no approval to keep: ${flaw}`)
      if (grant.scope === 'project' && !projectScope) throw projectScopeOff(grant)
      await change((grants) => {
        const current = grants.filter(isCurrent)
        return current.some((one) => isSameGrant(one, grant)) ? grants : withoutOldest([...current, grant])
      })
    },
    revoke,
    list: () => known.filter(isCurrent),
    async clearSession(sessionId) {
      await revoke((grant) => grant.sessionId === sessionId)
    },
    load: () =>
      inTurn(async () => {
        try {
          know(await store.read())
        } catch (error) {
          know([])
          throw error
        }
      }),
  }
}

function memoryOnly(): GrantStore {
  let kept: readonly Grant[] = []
  return {
    read: async () => kept,
    change: async (edit) => (kept = edit(kept)),
  }
}

/** What was allowed outside runs there. Grants bound to files come last, because they may be invalid. */
function byPreference(one: Grant, other: Grant): number {
  const rank = ({ within, bound }: Grant): number => (within === 'outside' ? 0 : 2) + (bound ? 1 : 0)
  return rank(one) - rank(other)
}

/** The index key. It may collide, so tool and key are compared as well. */
function nameOf({ tool, key }: { readonly tool: string; readonly key: string }): string {
  return `${tool}\n${key}`
}

const mostOfSessions = 2_000

/** Bounds the grants of sessions that are never cleared. Dropped ones are asked about again. */
function withoutOldest(grants: readonly Grant[]): readonly Grant[] {
  const ofSessions = grants.filter(({ scope }) => scope === 'session')
  const dropped = new Set(ofSessions.slice(0, -mostOfSessions))
  return dropped.size === 0 ? grants : grants.filter((grant) => !dropped.has(grant))
}

function projectScopeOff({ tool, key }: Grant): CodedError {
  return new CodedError(
    'Validation/ProjectScopeOff',
    `the approval of ${tool} (${key}) cannot be kept for the project, because approvals for projects are off; switch projectGrants on, or keep it for the session`,
  )
}
