import { mkdirSync, statSync } from 'node:fs'
import { dirname, isAbsolute, join, resolve } from 'node:path'
import { codeOf, messageOf, StoreError } from '../../core/errors.ts'
import type { SessionStore } from '../../core/store.ts'
import { visibleName } from '../../platform/visible-text.ts'
import { createSqliteStore } from '../../sessions/sqlite-store.ts'
import { CliError, UsageError } from '../cli-error.ts'
import { type Config, loadConfig } from '../config/config.ts'
import type { Io } from '../io.ts'

/** Where sessions are kept: where the settings say, else `sessions.db` in the user's own folder. */
export function sessionsPath(
  { sessions }: Pick<Config, 'sessions'>,
  { home, userHome }: Pick<Io, 'home' | 'userHome'>,
): string {
  if (sessions === undefined || sessions === '') return join(home, 'sessions.db')
  if (sessions === '~' || sessions.startsWith('~/')) return join(userHome, sessions.slice(1))
  return isAbsolute(sessions) ? sessions : join(home, sessions)
}

/** The store at a path: a folder of text files where it is a folder or ends in a slash, else an SQLite file. */
export async function openStore(path: string): Promise<SessionStore> {
  const place = resolve(path)
  try {
    if (isFolderStore(path)) {
      const { createJsonlStore } = await import('../../sessions/jsonl-store.ts')
      const store = createJsonlStore({ dir: place })
      await store.identity?.()
      return store
    }
    mkdirSync(dirname(place), { recursive: true, mode: 0o700 })
    const store = createSqliteStore({ path: place })
    await store.identity() // opens it: what is wrong is said now, not in the middle of a run
    return store
  } catch (error) {
    throw await cannotOpen(visibleName(place), error)
  }
}

/** Whether sessions at this path are text files in a folder. */
export const isFolderStore = (path: string): boolean =>
  path.endsWith('/') || statSync(resolve(path), { throwIfNoEntry: false })?.isDirectory() === true

async function cannotOpen(place: string, error: unknown): Promise<CliError> {
  const elsewhere = 'or keep sessions elsewhere: libero config set sessions <path>'
  if (error instanceof StoreError) {
    const { explainStore } = await import('../failures/session-failure.ts')
    return new CliError(explainStore(error, { foreign: visibleName }), undefined, { cause: error })
  }
  const what = folderProblems[codeOf(error) ?? ''] ?? messageOf(error)
  return new CliError(
    `The sessions at ${place} cannot be opened: ${what}; make its folder writable, ${elsewhere}`,
    undefined,
    {
      cause: error,
    },
  )
}

const folderProblems: Readonly<Record<string, string>> = {
  EACCES: 'its folder may not be written',
  EPERM: 'its folder may not be written',
  EROFS: 'the disk is read-only',
  ENOSPC: 'the disk is full',
  ENOTDIR: 'a file stands where its folder should be',
  EEXIST: 'a file stands where its folder should be',
}

/** Opens the user's store for the time of some work. */
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

/** The id that a command needs as its first word. */
export function requireId(words: readonly string[], command: string): string {
  const [id] = words
  if (id === undefined || id === '')
    throw new UsageError(`sessions ${command} needs the id of a session; libero sessions lists them`)
  return id
}
