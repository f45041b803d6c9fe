import { mkdirSync, statSync } from 'node:fs'
import { dirname, isAbsolute, join, resolve } from 'node:path'
import { codeOf, messageOf, StoreError } from '../../core/errors.ts'
import type { SessionStore } from '../../core/store.ts'
import { visibleName } from '../../platform/visible-text.ts'
import { createSqliteStore } from '../../sessions/sqlite-store.ts'
import { CliError, UsageError } from '../cli-error.ts'
import { type Config, loadConfig } from '../config/config.ts'
import type { Io } from '../io.ts'

/** The path of the session store: from the settings, else `sessions.db` in the user's folder. */
export function sessionsPath(
  { sessions }: Pick<Config, 'sessions'>,
  { home, userHome }: Pick<Io, 'home' | 'userHome'>,
): string {
  if (sessions === undefined || sessions === '') return join(home, 'sessions.db')
  if (sessions === '~' || sessions.startsWith('~/')) return join(userHome, sessions.slice(1))
  return isAbsolute(sessions) ? sessions : join(home, sessions)
}

/** The store at a path: JSON Lines files if it is a folder or ends in a slash, else an SQLite file. */
export async function openStore(path: string): Promise<SessionStore> {
  const absolute = resolve(path)
  try {
    if (isFolderStore(path)) {
      const { createJsonlStore } = await import('../../sessions/jsonl-store.ts')
      const store = createJsonlStore({ dir: absolute })
      await store.identity?.()
      return store
    }
    mkdirSync(dirname(absolute), { recursive: true, mode: 0o700 })
    const store = createSqliteStore({ path: absolute })
    await store.identity() // opens it, so that errors appear now and not during a run
    return store
  } catch (error) {
    throw await cannotOpen(visibleName(absolute), error)
  }
}

/** Whether the store at this path is a folder of JSON Lines files. */
export const isFolderStore = (path: string): boolean =>
  path.endsWith('/') || statSync(resolve(path), { throwIfNoEntry: false })?.isDirectory() === true

async function cannotOpen(path: string, error: unknown): Promise<CliError> {
  const elsewhere = 'or keep sessions elsewhere: libero config set sessions <path>'
  if (error instanceof StoreError) {
    const { explainStore } = await import('../failures/session-failure.ts')
    return new CliError(explainStore(error, { safe: visibleName }), undefined, { cause: error })
  }
  const what = folderProblems[codeOf(error) ?? ''] ?? messageOf(error)
  const message = `The sessions at ${path} cannot be opened: ${what}; make its folder writable, ${elsewhere}`
  return new CliError(message, undefined, { cause: error })
}

const folderProblems: Readonly<Record<string, string>> = {
  EACCES: 'its folder may not be written',
  EPERM: 'its folder may not be written',
  EROFS: 'the disk is read-only',
  ENOSPC: 'the disk is full',
  ENOTDIR: 'there is a file in place of its folder',
  EEXIST: 'there is a file in place of its folder',
}

/** Opens the user's store while `work` runs. */
export async function withStore<T>(
  io: Pick<Io, 'home' | 'userHome'>,
  work: (store: SessionStore) => Promise<T>,
): Promise<T> {
  const { config } = await loadConfig({ home: io.home })
  const store = await openStore(sessionsPath(config, io))
  try {
    return await work(store)
  } finally {
    await store.close?.()
  }
}

/** The arguments of a command of `libero sessions`. */
export interface SessionArgs<Values> {
  readonly values: Values
  readonly words: readonly string[]
}

/** The first word of a command, which must be a session's id. */
export function requireSessionId(words: readonly string[], command: string): string {
  const [id] = words
  if (id === undefined || id === '')
    throw new UsageError(`sessions ${command} needs the id of a session; libero sessions lists them`)
  return id
}
