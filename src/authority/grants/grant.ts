import type { ApprovalScope, ToolOrigin } from '../../core/authority.ts'
import { isRecord } from '../../core/is-record.ts'
import { digestOf } from '../../platform/digest.ts'
import type { GrantedPlacement } from '../confinement.ts'

type GrantScope = Exclude<ApprovalScope, 'once'>

/** An approval that counts for longer than one call. */
export interface Grant {
  readonly tool: string
  /** Which calls of the tool it covers; see `coveredCalls`. */
  readonly key: string
  /** The rule that the person wrote: it decides which calls of the tool are covered, and the key is `(rule)`. */
  readonly rule?: string
  /** The same in words, as the person read them. */
  readonly covers: string
  /** The grant covers neither another tool of that name nor this one after its code changed. */
  readonly origin: ToolOrigin
  readonly scope: GrantScope
  /** With scope `session`: the grant covers it and the sessions of its children. */
  readonly sessionId?: string
  /** The workspace, all links resolved. The grant counts in no other one, whatever its scope. */
  readonly project: string
  /** Where its commands may run, and what they may reach; `outside` only in a session. Absent if the call runs none. */
  readonly within?: GrantedPlacement
  /** In ms since the epoch. */
  readonly grantedAt: number
  readonly grantedBy: string
  /** In ms since the epoch. The grant ends then. */
  readonly expiresAt?: number
  /** Digests by file path. The grant is void once one of the files changes. */
  readonly bound?: Readonly<Record<string, string>>
}

/** The key of grants with a rule. */
export const ruleKey = '(rule)'

/** Why a value is not a valid grant. Strict: an unknown field may be an unknown limit. */
export function whyInvalidGrant(value: unknown): string | undefined {
  if (!isRecord(value)) return 'it is not an object'
  for (const [field, isRight] of Object.entries(fields))
    if (!isRight(value[field])) return `its ${field} is missing or wrong`
  const unknown = Object.keys(value).find((field) => !Object.hasOwn(fields, field))
  if (unknown !== undefined) return `it has a field "${unknown}" that this version does not know`
  if ((value.scope === 'session') !== (value.sessionId !== undefined)) return 'sessionId goes with scope session'
  if (value.rule !== undefined && (value.scope !== 'project' || value.key !== ruleKey))
    return 'a rule goes with scope project and its own key'
  if (value.within === 'outside' && value.scope !== 'session') return 'outside any sandbox it counts in a session only'
  return undefined
}

/** Whether two grants allow the same for the same time; by whom, since when and in which words does not matter. */
export function isSameGrant(one: Grant, other: Grant): boolean {
  return contentOf(one) === contentOf(other)
}

/** A short name for a person, the same for the same grant. */
export const grantId = (grant: Grant): string => digestOf(contentOf(grant)).slice(0, 8)

/** Whether two origins are the same. A grant never passes to another tool of the same name. */
export function isSameOrigin(one: ToolOrigin, other: ToolOrigin): boolean {
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
const scopes = new Set<unknown>(['session', 'project'] satisfies GrantScope[])

const fields: { readonly [Field in keyof Required<Grant>]: (value: unknown) => boolean } = {
  tool: isText,
  key: isText,
  rule: orAbsent(isText),
  covers: isText,
  origin: isOrigin,
  scope: (value) => scopes.has(value),
  sessionId: orAbsent(isText),
  project: isText,
  grantedAt: Number.isFinite,
  grantedBy: isText,
  expiresAt: orAbsent(Number.isFinite),
  bound: orAbsent((value) => isRecord(value) && Object.values(value).every(isText)),
  within: orAbsent((value) => value === 'outside' || isReach(value)),
}

function contentOf(grant: Grant): string {
  const { tool, key, origin, scope, sessionId, project, expiresAt, bound = {}, within, rule } = grant
  const { layer, path, digest } = origin
  const files = Object.keys(bound).sort()
  const bounds = files.map((file) => [file, bound[file]])
  const content = [tool, key, layer, path, digest, scope, sessionId, project, expiresAt, bounds, within]
  return JSON.stringify(rule === undefined ? content : [...content, rule])
}

function isOrigin(value: unknown): boolean {
  if (!isRecord(value)) return false
  const { layer, path, digest, ...more } = value
  return layers.has(layer) && [path, digest].every(orAbsent(isText)) && Object.keys(more).length === 0
}

function isReach(value: unknown): boolean {
  if (!isRecord(value)) return false
  const { profile, reads, writes, hosts, home, ...more } = value
  return (
    (profile === 'read-only' || profile === 'workspace-write') &&
    (home === 'empty' || home === 'readable') &&
    (hosts === 'any' || areTexts(hosts)) &&
    areTexts(reads) &&
    areTexts(writes) &&
    Object.keys(more).length === 0
  )
}

const areTexts = (value: unknown): boolean => Array.isArray(value) && value.every(isText)

function isText(value: unknown): boolean {
  return typeof value === 'string' && value !== ''
}

function orAbsent(isRight: (value: unknown) => boolean): (value: unknown) => boolean {
  return (value) => value === undefined || isRight(value)
}
