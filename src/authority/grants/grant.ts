import type { ToolOrigin } from '../../core/authority.ts'
import { isRecord } from '../../core/is-record.ts'

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
export function isSameOrigin(one: ToolOrigin, other: ToolOrigin): boolean {
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
