import type { ToolOrigin } from '../../core/authority.ts'
import type { Clock } from '../../core/clock.ts'
import { CodedError } from '../../core/errors.ts'
import { isRecord } from '../../core/is-record.ts'
import { copyJson } from '../../core/turn.ts'

/** What a grant must cover: a call of this tool, from this origin, with this key, in one of these sessions or this project. */
export interface GrantIdentity {
  readonly tool: string
  readonly key: string
  readonly origin: ToolOrigin
  /** The session of the call, then its parents, up to the root. */
  readonly sessionIds: readonly string[]
  readonly project?: string
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
  /** Whether grants for a project are allowed. Default false. */
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
export function createGrants({ clock, store = memoryOnly(), projectScope = false }: GrantsOptions): Grants {
  let known: readonly Grant[] = []
  let byName = new Map<string, Grant[]>()
  let last: Promise<unknown> = Promise.resolve()
  let latest = Number.NEGATIVE_INFINITY

  function know(grants: readonly Grant[]): void {
    if (grants === known) return
    known = grants
    // Grants bound to files come last, because they may be invalid.
    byName = Map.groupBy([...grants.filter(({ bound }) => !bound), ...grants.filter(({ bound }) => bound)], nameOf)
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

  function covers(grant: Grant, { tool, key, origin, sessionIds, project }: GrantIdentity): boolean {
    if (grant.tool !== tool || grant.key !== key) return false
    if (!isSameOrigin(grant.origin, origin) || !isCurrent(grant)) return false
    if (grant.scope === 'session') return sessionIds.includes(grant.sessionId!)
    return grant.scope === 'always' || (projectScope && grant.project === project)
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
    find: (identity) => byName.get(nameOf(identity))?.find((grant) => covers(grant, identity)),
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
    `the approval of ${tool} (${key}) cannot be kept for the project, because approvals for projects are off; switch projectScope on, or keep it for the session`,
  )
}

/** How long an approval counts. */
export type ApprovalScope = 'once' | GrantScope

type GrantScope = 'session' | 'project' | 'always'

/** An approval that counts for longer than one call. */
export interface Grant {
  readonly tool: string
  readonly key: string
  /** The grant covers neither another tool of that name nor this one after its code changed. */
  readonly origin: ToolOrigin
  readonly scope: GrantScope
  /** With scope `session`: the grant covers it and the sessions of its children. */
  readonly sessionId?: string
  readonly project?: string
  /** In ms since the epoch. */
  readonly grantedAt: number
  readonly grantedBy: string
  /** In ms since the epoch. The grant ends then. */
  readonly expiresAt?: number
  /** Digests by file path. The grant is void once one of the files changes. */
  readonly bound?: Readonly<Record<string, string>>
}

/** Why a value is not a valid grant. Strict: an unknown field may be an unknown limit. */
export function whyInvalidGrant(value: unknown): string | undefined {
  if (!isRecord(value)) return 'it is not an object'
  for (const [field, isRight] of Object.entries(fields))
    if (!isRight(value[field])) return `its ${field} is missing or wrong`
  const unknown = Object.keys(value).find((field) => !Object.hasOwn(fields, field))
  if (unknown !== undefined) return `it has a field "${unknown}" that this version does not know`
  if ((value.scope === 'session') !== (value.sessionId !== undefined)) return 'sessionId goes with scope session'
  if ((value.scope === 'project') !== (value.project !== undefined)) return 'project goes with scope project'
  return undefined
}

/** Whether two grants allow the same for the same time; by whom and since when does not matter. */
export function isSameGrant(one: Grant, other: Grant): boolean {
  return contentOf(one) === contentOf(other)
}

/** Whether two origins are the same. A grant never passes to another tool of the same name. */
function isSameOrigin(one: ToolOrigin, other: ToolOrigin): boolean {
  return one.layer === other.layer && one.path === other.path && one.digest === other.digest
}

/** The part of an origin that a grant stores; the rest may differ at the next start. */
export function identityOf({ layer, path, digest }: ToolOrigin): ToolOrigin {
  return { layer, ...(path !== undefined && { path }), ...(digest !== undefined && { digest }) }
}

const layers = new Set<unknown>([
  'host',
  'bundled',
  'global',
  'project',
  'mcp',
  'plugin',
] satisfies ToolOrigin['layer'][])
const scopes = new Set<unknown>(['session', 'project', 'always'] satisfies GrantScope[])

const fields: { readonly [Field in keyof Required<Grant>]: (value: unknown) => boolean } = {
  tool: isText,
  key: isText,
  origin: isOrigin,
  scope: (value) => scopes.has(value),
  sessionId: orAbsent(isText),
  project: orAbsent(isText),
  grantedAt: Number.isFinite,
  grantedBy: isText,
  expiresAt: orAbsent(Number.isFinite),
  bound: orAbsent((value) => isRecord(value) && Object.values(value).every(isText)),
}

function contentOf({ tool, key, origin, scope, sessionId, project, expiresAt, bound = {} }: Grant): string {
  const { layer, path, digest } = origin
  const files = Object.keys(bound).sort()
  const bounds = files.map((file) => [file, bound[file]])
  return JSON.stringify([tool, key, layer, path, digest, scope, sessionId, project, expiresAt, bounds])
}

function isOrigin(value: unknown): boolean {
  if (!isRecord(value)) return false
  const { layer, path, digest, ...more } = value
  return layers.has(layer) && [path, digest].every(orAbsent(isText)) && Object.keys(more).length === 0
}

function isText(value: unknown): boolean {
  return typeof value === 'string' && value !== ''
}

function orAbsent(isRight: (value: unknown) => boolean): (value: unknown) => boolean {
  return (value) => value === undefined || isRight(value)
}
