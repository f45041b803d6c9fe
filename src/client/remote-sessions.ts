import type { Connection, RemoteRequest } from './connection.ts'
import { readJson, readNothing, readText } from './read-answer.ts'
import { type RemoteSessionWork, remoteSessionWork, sessionPath } from './remote-session-work.ts'
import type {
  NewRemoteSession,
  RemoteDraft,
  RemoteEntries,
  RemoteEntryRange,
  RemoteIndex,
  RemotePendingCall,
  RemoteSession,
  RemoteSessionPage,
  RemoteSessionQuery,
} from './remote-types.ts'

/** The sessions of a server. */
export interface RemoteSessions extends RemoteSessionWork {
  /** One page, the last changed first; `next` is the `cursor` of the next one. */
  list(query?: RemoteSessionQuery): Promise<RemoteSessionPage>
  make(session?: NewRemoteSession): Promise<RemoteSession>
  get(id: string): Promise<RemoteSession & { readonly pending: readonly RemotePendingCall[] }>
  /** Changes title and tags. */
  update(id: string, details: { readonly title?: string; readonly tags?: readonly string[] }): Promise<RemoteSession>
  /** Deletes a session with its sub-agents. Refused with `session_busy` while a run is under way. */
  delete(id: string): Promise<void>
  /** A new session with the same entries, up to one of them. */
  fork(id: string, options?: { readonly at?: number; readonly id?: string }): Promise<RemoteSession>
  /** Turns after an entry are no longer part of the conversation. Tried once. */
  rewind(id: string, to: number): Promise<RemoteSession>
  /** Labels the last entry and resolves with its number. Tried once. */
  label(id: string, text: string): Promise<number>
  /** Allows runs again in a session that was parked after crashes. */
  unpark(id: string): Promise<void>
  /** The session with its sub-agents as JSON Lines. */
  export(id: string): Promise<string>
  /** Makes a session from an export. */
  readonly import: (text: string, options?: { readonly id?: string }) => Promise<RemoteSession>
  entries(id: string, range?: RemoteEntryRange): Promise<RemoteEntries>
  /** All entries as number, type and size. */
  index(id: string, range?: { readonly after?: number }): Promise<RemoteIndex>
  /** The bytes of a large output, by the name that an entry has. */
  blob(id: string, name: string): Promise<Uint8Array<ArrayBuffer>>
  /** The text that was not sent yet, empty if there is none, and its version. */
  draft(id: string): Promise<RemoteDraft>
  /** Keeps a text that is not sent yet, and resolves with its version; an empty text removes it. Of two writes the last counts. */
  saveDraft(id: string, text: string): Promise<number>
}

export function remoteSessions(connection: Connection): RemoteSessions {
  const call = <T>(request: Omit<RemoteRequest<T>, 'read'>): Promise<T | undefined> =>
    connection.request<T>({ ...request, read: readJson })
  const get = async <T>(path: string, query?: object): Promise<T> => (await call<T>({ method: 'GET', path, query }))!
  const find: RemoteSessions['get'] = (id) => get(sessionPath(id))

  /** With a random id, which no other client can have, a lost answer costs nothing: if the session is there, it is this one. */
  async function create(
    given: string | undefined,
    request: (id: string) => Omit<RemoteRequest<RemoteSession>, 'read' | 'method'>,
    /** What the lost answer leaves open. */
    finish = async (_id: string): Promise<void> => {},
  ): Promise<RemoteSession> {
    const id = given ?? crypto.randomUUID()
    const repeats = given === undefined && { isRepeatable: true, doneIf: 'session_exists' }
    const made = await call<RemoteSession>({ method: 'POST', ...repeats, ...request(id) })
    if (made) return made
    await finish(id)
    return find(id)
  }

  return {
    ...remoteSessionWork(connection),
    list: (query) => get('/v1/sessions', query),
    make({ id: given, ...details } = {}) {
      const message = { headers: { 'idempotency-key': crypto.randomUUID() }, body: { content: details.message } }
      return create(
        given,
        (id) => ({ path: '/v1/sessions', headers: message.headers, body: { id, ...details } }),
        async (id) => {
          if (details.message === undefined) return
          await call({ method: 'POST', path: `${sessionPath(id)}/messages`, isRepeatable: true, ...message })
        },
      )
    },
    get: find,
    update: async (id, body) =>
      (await call<RemoteSession>({ method: 'PATCH', path: sessionPath(id), body, isRepeatable: true }))!,
    delete: async (id) =>
      void (await connection.request({
        method: 'DELETE',
        path: sessionPath(id),
        doneIf: 'no_session',
        read: readNothing,
      })),
    fork: (id, { at, id: copy } = {}) =>
      create(copy, (own) => ({ path: `${sessionPath(id)}/fork`, body: { id: own, at } })),
    rewind: async (id, to) =>
      (await call<RemoteSession>({ method: 'POST', path: `${sessionPath(id)}/rewind`, body: { to } }))!,
    label: async (id, text) =>
      (await call<{ seq: number }>({ method: 'POST', path: `${sessionPath(id)}/label`, body: { text } }))!.seq,
    unpark: async (id) => void (await call({ method: 'POST', path: `${sessionPath(id)}/unpark`, isRepeatable: true })),
    export: async (id) =>
      (await connection.request({ method: 'GET', path: `${sessionPath(id)}/export`, read: readText }))!,
    import: (text, { id } = {}) =>
      create(id, (own) => ({
        ...{ path: '/v1/sessions/import', query: { id: own }, body: text, waitMs: 600_000 },
        headers: { 'content-type': 'application/jsonl' },
      })),
    entries: (id, range) => get(`${sessionPath(id)}/entries`, range),
    index: (id, range) => get(`${sessionPath(id)}/index`, range),
    async blob(id, name) {
      const path = `${sessionPath(id)}/blobs/${encodeURIComponent(name)}`
      return (await connection.request({ method: 'GET', path, read: (bytes) => bytes }))!
    },
    draft: (id) => get(`${sessionPath(id)}/draft`),
    saveDraft: async (id, text) =>
      (await call<RemoteDraft>({ method: 'PUT', path: `${sessionPath(id)}/draft`, body: { text } }))!.version,
  }
}
