import type { Connection, RemoteRequest } from './connection.ts'
import { readJson } from './read-answer.ts'

type More<T> = Omit<RemoteRequest<T>, 'read' | 'method' | 'path'>

/** Requests whose answers are JSON, or have no content. */
export interface JsonRequests {
  get<T>(path: string, query?: object): Promise<T>
  /** Tried once, unless it is repeatable. */
  post<T>(path: string, more?: More<T>): Promise<T>
  put<T>(path: string, body: object): Promise<T>
  /** Making a change twice is the same as making it once. */
  patch<T>(path: string, body: object): Promise<T>
  /** `goneIf` is the code of the problem that says that there is no such thing. */
  delete(path: string, goneIf: string): Promise<void>
}

export function jsonRequests(connection: Connection): JsonRequests {
  const request = async <T>(given: Omit<RemoteRequest<T>, 'read'>): Promise<T> =>
    (await connection.request<T>({ ...given, read: readJson }))!
  return {
    get: (path, query) => request({ method: 'GET', path, query }),
    post: (path, more) => request({ method: 'POST', path, ...more }),
    put: (path, body) => request({ method: 'PUT', path, body }),
    patch: (path, body) => request({ method: 'PATCH', path, body, isRepeatable: true }),
    delete: async (path, doneIf) => void (await request({ method: 'DELETE', path, doneIf })),
  }
}
