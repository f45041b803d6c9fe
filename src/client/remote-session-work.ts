import type { Connection, RemoteRequest } from './connection.ts'
import { readJson } from './read-answer.ts'
import type { RemoteSessionSettings, RemoteSettingsChange } from './remote-session-types.ts'

/** What a person can do with a session beside sending messages. */
export interface RemoteSessionWork {
  /** The model, thinking, mode and profile of a session. */
  settings(id: string): Promise<RemoteSessionSettings>
  /** Chooses them: for the next run, the mode for the next call. */
  changeSettings(id: string, change: RemoteSettingsChange): Promise<RemoteSessionSettings>
}

export function remoteSessionWork(connection: Connection): RemoteSessionWork {
  const call = async <T>(
    method: RemoteRequest<T>['method'],
    id: string,
    path: string,
    more: Pick<RemoteRequest<T>, 'query' | 'body' | 'isRepeatable'> = {},
  ): Promise<T> =>
    (await connection.request<T>({ method, path: `${sessionPath(id)}/${path}`, ...more, read: readJson }))!
  return {
    settings: (id) => call('GET', id, 'settings'),
    changeSettings: (id, body) => call('PATCH', id, 'settings', { body, isRepeatable: true }),
  }
}

export const sessionPath = (id: string): string => `/v1/sessions/${encodeURIComponent(id)}`
