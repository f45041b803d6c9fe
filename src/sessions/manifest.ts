import { show } from '../core/behavior.ts'
import { AgentError } from '../core/errors.ts'
import { checkedAs, isRecord } from '../core/is-record.ts'
import type { Session, SessionStore } from '../core/store.ts'
import { createRedactor } from '../platform/redact.ts'
import type { SessionOptions } from './leased-log.ts'
import { loadSession } from './session.ts'

/** References by which a session is found again, without its content. Times are milliseconds since the epoch. */
export interface SessionManifest {
  readonly sessionId: string
  readonly projectRoot: string
  readonly mode: string
  /** One for each turn, in a form that the writer of the manifest chooses. */
  readonly messages: readonly Readonly<Record<string, unknown>>[]
  readonly smState?: { readonly smExtId: string; readonly stateSlotRef: string }
  /** The store that wrote it, by its `identity()`. */
  readonly storeId: string
  readonly createdAt: number
  readonly updatedAt: number
}

/** The manifest names another store than the given one. */
export class ResumeMismatchError extends AgentError {
  readonly code = 'Session/ResumeMismatch'
}

/** The manifest of a session. It names the turns; their content stays in the store. */
export async function manifestOf(
  session: Session,
  options: {
    /** The store of the session. */
    readonly store: SessionStore
    readonly projectRoot: string
    readonly mode: string
    readonly smState?: SessionManifest['smState']
  },
): Promise<SessionManifest> {
  const { store, projectRoot, mode, smState } = options
  const storeId = await store.identity?.()
  if (storeId === undefined)
    throw new Error('This store has no identity(), so it cannot be recognized later; use one that outlives the process')
  const info = await store.find(session.id)
  if (!info)
    throw new Error(`There is no session "${session.id}" in this store; save() it first, or pass its own store`)
  const manifest: SessionManifest = {
    sessionId: session.id,
    projectRoot,
    mode,
    messages: await messagesOf(session),
    ...(smState && { smState }),
    storeId,
    createdAt: info.createdAt,
    updatedAt: info.updatedAt,
  }
  return checkManifest(manifest)
}

/** All turns, also those that are not loaded. */
async function messagesOf(session: Session): Promise<SessionManifest['messages']> {
  let page = await session.readTurns({ limit: 1000 })
  const pages = [page.turns, session.turns]
  while (page.next !== undefined) {
    page = await session.readTurns({ before: page.next, limit: 1000 })
    pages.unshift(page.turns)
  }
  return pages.flat().map(({ id, role, createdAt }) => ({ turnId: id, role, createdAt }))
}

/** The manifest as text, with sorted keys, so that equal manifests are equal texts. */
export function writeManifest(manifest: SessionManifest): string {
  return `${JSON.stringify(sorted(checkManifest(manifest)), null, 2)}\n`
}

/** Reads a manifest from text or parsed JSON. Unknown keys are refused. */
export function readManifest(json: unknown): SessionManifest {
  if (typeof json !== 'string') return checkManifest(json)
  let value: unknown
  try {
    value = JSON.parse(json)
  } catch (error) {
    throw new TypeError(`The session manifest is not valid JSON: ${show(json)}`, { cause: error })
  }
  return checkManifest(value)
}

/** Loads the session that a manifest names. The store must be the one that wrote it. */
export async function resumeFromManifest(
  manifest: SessionManifest,
  store: SessionStore,
  options: SessionOptions = {},
): Promise<Session> {
  const { sessionId, storeId } = checkManifest(manifest)
  const here = await store.identity?.()
  if (here !== storeId)
    throw new ResumeMismatchError(
      `Session/ResumeMismatch: session "${sessionId}" was written by store "${storeId}", this is ${here === undefined ? 'a store without an identity' : `store "${here}"`}; open the store that wrote it`,
    )
  return loadSession(store, sessionId, options)
}

type Fields = Readonly<Record<string, unknown>>
type Check = readonly [isRight: (value: unknown) => boolean, wanted: string]

const name: Check = [(value) => typeof value === 'string' && value !== '', 'a text']
const time: Check = [(value) => typeof value === 'number' && Number.isFinite(value), 'a time in milliseconds']

const keys: Readonly<Record<keyof SessionManifest, Check>> = {
  sessionId: name,
  projectRoot: name,
  mode: name,
  messages: [(value) => Array.isArray(value) && value.every(isRecord), 'a list of objects'],
  smState: [(value) => value === undefined || isRecord(value), 'an object with smExtId and stateSlotRef'],
  storeId: name,
  createdAt: time,
  updatedAt: time,
}

const stateKeys: Readonly<Record<string, Check>> = { smExtId: name, stateSlotRef: name }

function checkManifest(value: unknown): SessionManifest {
  if (!isRecord(value)) throw new TypeError(`A session manifest is an object, got ${show(value)}`)
  checkKeys(value, keys, '')
  if (value.smState !== undefined) checkKeys(value.smState as Fields, stateKeys, 'smState.')
  if (holdsSecret(value)) {
    const [key] = Object.entries(value).find(([name, field]) => holdsSecret({ [name]: field })) ?? []
    const where = key === undefined ? '' : ` in "${key}"`
    throw new TypeError(`The session manifest holds what looks like a secret${where}; it may only refer to one`)
  }
  return checkedAs<SessionManifest>(value)
}

function holdsSecret(value: Fields): boolean {
  const text = JSON.stringify(value)
  return createRedactor().text(text) !== text
}

function checkKeys(value: Fields, checks: Readonly<Record<string, Check>>, at: string): void {
  for (const key of Object.keys(value))
    if (!Object.hasOwn(checks, key))
      throw new TypeError(`The session manifest has no key "${at}${key}"; it has ${Object.keys(checks).join(', ')}`)
  for (const [key, [isRight, wanted]] of Object.entries(checks))
    if (!isRight(value[key]))
      throw new TypeError(`The session manifest's "${at}${key}" must be ${wanted}, got ${show(value[key])}`)
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (!isRecord(value)) return value
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((key) => [key, sorted(value[key])]),
  )
}
