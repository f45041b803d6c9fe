import type { ToolOrigin } from '../../core/authority.ts'
import type { Clock } from '../../core/clock.ts'
import { CodedError } from '../../core/errors.ts'
import { isRecord } from '../../core/is-record.ts'
import { copyJson } from '../../core/turn.ts'

/** What is looked for: a call of this tool, from this origin, under this key, in one of these sessions or this project. */
export interface GrantIdentity {
  readonly tool: string
  readonly key: string
  readonly origin: ToolOrigin
  /** The session of the call, then its parent's, up to the root. */
  readonly sessionIds: readonly string[]
  readonly project?: string
}

/** Where grants outlive the process. */
export interface GrantStore {
  /** All of them as they are now. Rejects when they cannot be trusted. */
  read(): Promise<readonly Grant[]>
  /** Reads, edits and writes, with nobody else in between. Returns what is kept. */
  change(edit: (grants: readonly Grant[]) => readonly Grant[]): Promise<readonly Grant[]>
}

interface GrantsOptions {
  readonly clock: Clock
  /** Default: they are forgotten with the process. */
  readonly store?: GrantStore
  /** Whether approvals may be kept for a project. Default false. */
  readonly projectScope?: boolean
}

/** The approvals that hold for longer than one call. Denials are not kept. */
export interface Grants {
  /**
   * An approval that covers the call, from memory: `load` first. One with `bound` holds only while these files are the
   * same: whoever uses it compares, and revokes it if they are not.
   */
  find(identity: GrantIdentity): Grant | undefined
  /** An equal one that is there already stays as it is. */
  add(grant: Omit<Grant, 'grantedAt'>): Promise<void>
  /** Returns how many there were. Go by what a grant says (`isSameGrant`): the objects come fresh from the store. */
  revoke(isMeant: (grant: Grant) => boolean): Promise<number>
  list(): readonly Grant[]
  /** Ends what was approved for this session. */
  clearSession(sessionId: string): Promise<void>
  /** Brings in what other processes granted or revoked; costs little when nothing changed. If it rejects, no grant counts. */
  load(): Promise<void>
}

/** Grants in memory, and in a store where there is one. */
export function createGrants({ clock, store = memoryOnly(), projectScope = false }: GrantsOptions): Grants {
  let known: readonly Grant[] = []
  let byName = new Map<string, Grant[]>()
  let last: Promise<unknown> = Promise.resolve()
  let latest = Number.NEGATIVE_INFINITY

  function know(grants: readonly Grant[]): void {
    if (grants === known) return
    known = grants
    // What is bound to files comes last: it may turn out not to hold.
    byName = Map.groupBy([...grants.filter(({ bound }) => !bound), ...grants.filter(({ bound }) => bound)], nameOf)
  }

  /** One after another, or an older reading could replace a newer one. */
  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = last.then(work)
    last = turn.catch(() => {})
    return turn
  }

  function change(edit: (grants: readonly Grant[]) => readonly Grant[]): Promise<void> {
    return inTurn(async () => know(await store.change(edit)))
  }

  /** What has expired stays so, also when the clock is set back. */
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
      const flaw = grantFlaw(grant)
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

/** Where to look. Two names may meet here, so they are compared as well. */
function nameOf({ tool, key }: { readonly tool: string; readonly key: string }): string {
  return `${tool}\n${key}`
}

const mostOfSessions = 2_000

/** Sessions that are never cleared do not make the store grow for ever; what is dropped is asked again. */
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

/** How long an approval holds. */
export type ApprovalScope = 'once' | GrantScope

type GrantScope = 'session' | 'project' | 'always'

/** An approval that holds for longer than one call. */
export interface Grant {
  readonly tool: string
  /** The approval key, or what stands for it. */
  readonly key: string
  /** It counts for no other tool of that name, nor for this one once its code has changed. */
  readonly origin: ToolOrigin
  readonly scope: GrantScope
  /** With scope `session`: it holds there and in the sessions of its children. */
  readonly sessionId?: string
  /** With scope `project`. */
  readonly project?: string
  /** In ms since the epoch. */
  readonly grantedAt: number
  readonly grantedBy: string
  /** In ms since the epoch; from then on it is none. */
  readonly expiresAt?: number
  /** Digests of files, by path: what was approved is void once one of them changes. */
  readonly bound?: Readonly<Record<string, string>>
}

/** What keeps a value from being a grant, in words. Strict: a field that is not known may be a limit that is not known. */
export function grantFlaw(value: unknown): string | undefined {
  if (!isRecord(value)) return 'it is not an object'
  for (const [field, isRight] of Object.entries(fields))
    if (!isRight(value[field])) return `its ${field} is missing or wrong`
  const unknown = Object.keys(value).find((field) => !Object.hasOwn(fields, field))
  if (unknown !== undefined) return `it has a field "${unknown}" that this version does not know`
  if ((value.scope === 'session') !== (value.sessionId !== undefined)) return 'sessionId goes with scope session'
  if ((value.scope === 'project') !== (value.project !== undefined)) return 'project goes with scope project'
  return undefined
}

/** Whether two grants allow the same for as long; by whom and when does not matter. */
export function isSameGrant(one: Grant, other: Grant): boolean {
  return contentOf(one) === contentOf(other)
}

/** A grant never passes from a tool to another one that took its name. */
function isSameOrigin(one: ToolOrigin, other: ToolOrigin): boolean {
  return one.layer === other.layer && one.path === other.path && one.digest === other.digest
}

/** What a grant goes by; what else is known of a tool may differ from one start to the next. */
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
