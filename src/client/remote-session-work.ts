import type { SessionContentBlock } from '../core/turn.ts'
import type { Connection, RemoteRequest } from './connection.ts'
import { readJson } from './read-answer.ts'
import type {
  RemoteCommand,
  RemoteCommandResult,
  RemoteCompletions,
  RemoteContext,
  RemoteDiff,
  RemoteFiles,
  RemoteFork,
  RemoteHit,
  RemoteRollbackRequest,
  RemoteSessionRollback,
  RemoteSessionRollbackPlan,
  RemoteSessionSettings,
  RemoteSettingsChange,
  RemoteWhy,
} from './remote-session-types.ts'

/** What a person can do with a session beside sending messages. */
export interface RemoteSessionWork {
  /** The model, thinking, mode and profile of a session. */
  settings(id: string): Promise<RemoteSessionSettings>
  /** Chooses them: for the next run, the mode for the next call. */
  changeSettings(id: string, change: RemoteSettingsChange): Promise<RemoteSessionSettings>
  /** The files that the session changed, all or those after an entry. */
  files(id: string, range?: { readonly after?: number }): Promise<RemoteFiles>
  fileDiff(id: string, path: string, range?: { readonly after?: number }): Promise<RemoteDiff>
  /** What `rollback` would do. */
  planRollback(id: string, request: RemoteRollbackRequest): Promise<RemoteSessionRollbackPlan>
  /** Takes turns back, restores files, or both. Tried once. */
  rollback(id: string, request: RemoteRollbackRequest): Promise<RemoteSessionRollback>
  /** Undoes the last rollback; a second time it is made again. Tried once. */
  undoRollback(id: string, options?: { readonly force?: boolean }): Promise<RemoteSessionRollback>
  /** What can be meant at the caret of a text: a file after `@`, a command after `/`, or its argument. */
  completions(id: string, text: string, caret?: number): Promise<RemoteCompletions>
  commands(id: string): Promise<readonly RemoteCommand[]>
  /** Runs a line such as `/review src`. Tried once; with the same key a message is one. */
  runCommand(id: string, line: string, options?: { readonly key?: string }): Promise<RemoteCommandResult>
  /** What fills the context of the next model call; with the draft, what that call will cost. */
  context(id: string, query?: { readonly draft?: string }): Promise<RemoteContext>
  /** Who or what decided about a call, and what would change that. */
  why(id: string, callId: string): Promise<RemoteWhy>
  /** The session with those it was copied from and copies of these: of the 300 latest in its folder. */
  forks(id: string): Promise<readonly RemoteFork[]>
  /**
   * Takes back a message that the model has not got yet, and resolves with what it said. Throws `delivered` if the model has
   * it, `elsewhere` if another program runs the session.
   */
  takeBack(
    id: string,
    clientKey: string,
  ): Promise<{ readonly clientKey: string; readonly content: readonly SessionContentBlock[] }>
  /** Looks for a phrase in a session. `next` is the `after` of the next page, there until all was looked at. */
  find(
    id: string,
    phrase: string,
    range?: { readonly after?: number; readonly limit?: number },
  ): Promise<{ readonly hits: readonly RemoteHit[]; readonly next?: number }>
}

export function remoteSessionWork(connection: Connection): RemoteSessionWork {
  const call = async <T>(
    method: RemoteRequest<T>['method'],
    id: string,
    path: string,
    more: Pick<RemoteRequest<T>, 'query' | 'body' | 'headers' | 'isRepeatable'> = {},
  ): Promise<T> =>
    (await connection.request<T>({ method, path: `${sessionPath(id)}/${path}`, ...more, read: readJson }))!
  return {
    settings: (id) => call('GET', id, 'settings'),
    changeSettings: (id, body) => call('PATCH', id, 'settings', { body, isRepeatable: true }),
    files: (id, query) => call('GET', id, 'files', { query }),
    fileDiff: (id, path, range) => call('GET', id, 'files/diff', { query: { path, ...range } }),
    planRollback: (id, query) => call('GET', id, 'rollback', { query }),
    rollback: (id, body) => call('POST', id, 'rollback', { body }),
    undoRollback: (id, body = {}) => call('POST', id, 'rollback/undo', { body }),
    async completions(id, text, caret = text.length) {
      // A long text has no place in an address: the end before the caret tells all, and a line break that it is not the beginning.
      const cut = Math.max(0, caret - longestQuery)
      const shown = (cut > 0 ? '\n' : '') + text.slice(cut, caret + longestQuery)
      const offset = cut > 0 ? cut - 1 : 0
      const query = { text: shown, caret: caret - offset }
      const found = await call<RemoteCompletions>('GET', id, 'completions', { query })
      return { ...found, from: found.from + offset, to: found.to + offset }
    },
    context: (id, { draft } = {}) =>
      draft === undefined
        ? call('GET', id, 'context')
        : call('POST', id, 'context', { body: { draft }, isRepeatable: true }),
    why: (id, callId) => call('GET', id, `calls/${encodeURIComponent(callId)}/why`),
    forks: async (id) => (await call<{ forks: readonly RemoteFork[] }>('GET', id, 'forks')).forks,
    takeBack: (id, key) => call('DELETE', id, `messages/${encodeURIComponent(key)}`),
    find: (id, q, range) => call('GET', id, 'find', { query: { q, ...range } }),
    commands: async (id) => (await call<{ commands: readonly RemoteCommand[] }>('GET', id, 'commands')).commands,
    runCommand: (id, line, { key = crypto.randomUUID() } = {}) =>
      call('POST', id, 'commands', { body: { line }, headers: { 'idempotency-key': key } }),
  }
}

/** Twice as many characters of three bytes are 14 KB in an address; servers take 16. */
const longestQuery = 800

export const sessionPath = (id: string): string => `/v1/sessions/${encodeURIComponent(id)}`
