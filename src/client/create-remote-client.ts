import { Connection, type RemoteOptions, type RemoteRequest } from './connection.ts'
import { type FollowOptions, follow } from './follow.ts'
import { type JsonRequests, jsonRequests } from './json-requests.ts'
import { readJson, readNothing, readText } from './read-answer.ts'
import type { NewRemoteSchedule, RemoteSchedule, RemoteScheduleChange } from './remote-agent-types.ts'
import { type RemoteAgents, remoteAgents } from './remote-agents.ts'
import { type RemoteHost, remoteHost } from './remote-host.ts'
import type { RemoteSearchHit } from './remote-session-types.ts'
import { sessionPath } from './remote-session-work.ts'
import { type RemoteSessions, remoteSessions } from './remote-sessions.ts'
import type {
  RemoteAnswer,
  RemoteChange,
  RemoteMessage,
  RemotePendingCall,
  RemoteSession,
  SentMessage,
} from './remote-types.ts'
import { type RemoteEvent, type RemoteEventsOptions, sessionEvents } from './session-events.ts'

/** A server of `libero/server`. Every method throws a RemoteProblem if the server refuses or cannot be reached. */
export interface RemoteClient extends RemoteHost {
  readonly sessions: RemoteSessions
  /** Workflow agents. */
  readonly agents: RemoteAgents
  readonly schedules: RemoteSchedules
  readonly webhooks: RemoteWebhooks
  /** Stores a message. It is sent again after a lost connection, with the same key, so that it is one message. */
  send(id: string, message: RemoteMessage | string): Promise<SentMessage>
  /** Stops the run under way. The log says when it has stopped. */
  stop(id: string): Promise<void>
  /** Continues an interrupted run without a message. */
  continue(id: string): Promise<void>
  /**
   * The events of a session, first those of the log. It comes back by number after lost and silent connections, until the
   * signal aborts; each entry comes once and in its order. Throws if the server refuses: the session is gone, the token wrong.
   */
  events(id: string, options?: RemoteEventsOptions): AsyncGenerator<RemoteEvent, void, undefined>
  /** Changes of all sessions. */
  allEvents(options?: FollowOptions): AsyncGenerator<RemoteChange, void, undefined>
  /**
   * Looks for a phrase in all sessions, first in titles. `next` is the `cursor` of the next page, which may be empty: it is
   * there until all was looked at.
   */
  search(
    phrase: string,
    page?: { readonly cursor?: string; readonly limit?: number },
  ): Promise<{ readonly hits: readonly RemoteSearchHit[]; readonly next?: string }>
  /** The calls that wait for a person, in all sessions or in one. */
  pending(query?: { readonly session?: string }): Promise<readonly RemotePendingCall[]>
  /** Answers a call as it was shown. Tried once: after a lost connection, `pending` tells whether it counted. */
  answer(call: Pick<RemotePendingCall, 'session' | 'callId' | 'digest'>, answer: RemoteAnswer): Promise<void>
  /** Trades the token for a cookie of the page. */
  login(): Promise<void>
  logout(): Promise<void>
  /** Resolves if the server answers; `ready`: if its store does too. */
  health(): Promise<void>
  ready(): Promise<void>
  /** In the text format of Prometheus. */
  metrics(): Promise<string>
  /** The OpenAPI document of all routes. */
  openApi(): Promise<Readonly<Record<string, unknown>>>
  /** Any other route, such as those of the chat adapters: resolves with its JSON. */
  request(
    method: RemoteRequest<unknown>['method'],
    path: string,
    given?: { readonly query?: object; readonly body?: object },
  ): Promise<unknown>
}

type RemoteDraftChange = Extract<RemoteChange, { type: 'draft' }>

/** A client for a server of `libero/server`, in a browser or anywhere else. Opens nothing until it is used. */
export function createRemoteClient(options: RemoteOptions): RemoteClient {
  const connection = new Connection(options)
  const json = jsonRequests(connection)
  const get = async <T>(path: string, query?: object): Promise<T> =>
    (await connection.request<T>({ method: 'GET', path, query, read: readJson }))!
  const post = async (path: string, isRepeatable: boolean): Promise<void> =>
    void (await connection.request({ method: 'POST', path, isRepeatable, read: readNothing }))
  const change = <T>(request: Omit<RemoteRequest<T>, 'read'>): Promise<T> =>
    connection.request<T>({ ...request, read: readJson }) as Promise<T>

  return {
    ...remoteHost(json),
    sessions: remoteSessions(connection),
    agents: remoteAgents(json),
    schedules: remoteSchedules(json),
    webhooks: remoteWebhooks(json),
    send(id, message) {
      const given = typeof message === 'string' ? { content: message } : message
      const { key = crypto.randomUUID(), waitSeconds, signal, ...body } = given
      return change<SentMessage>({
        ...{ method: 'POST', path: `${sessionPath(id)}/messages`, body, signal, isRepeatable: true },
        headers: { 'idempotency-key': key, ...(waitSeconds !== undefined && { prefer: `wait=${waitSeconds}` }) },
        waitMs: (waitSeconds ?? 0) * 1000,
      })
    },
    stop: (id) => post(`${sessionPath(id)}/stop`, true),
    continue: (id) => post(`${sessionPath(id)}/continue`, true),
    events: (id, given = {}) => sessionEvents(connection, `${sessionPath(id)}/events`, given),
    allEvents: (given = {}) =>
      follow<RemoteChange>(connection, {
        ...{ path: '/v1/events', query: () => ({}), ...given },
        begin: () => ({ type: 'connected' }),
        read({ event, data }) {
          if (event === 'session') return { type: 'session', session: JSON.parse(data) as RemoteSession }
          return event === 'draft' ? { ...(JSON.parse(data) as RemoteDraftChange), type: 'draft' } : undefined
        },
      }),
    search: (q, page) => get('/v1/search', { q, ...page }),
    pending: async (query) => (await get<{ pending: readonly RemotePendingCall[] }>('/v1/pending', query)).pending,
    async answer({ session, callId, digest }, answer) {
      const path = `${sessionPath(session)}/answers/${encodeURIComponent(callId)}`
      await change({ method: 'POST', path, body: { digest, ...answer } })
    },
    login: () => post('/v1/login', true),
    logout: () => post('/v1/logout', true),
    health: async () => void (await connection.request({ method: 'GET', path: '/healthz', read: readNothing })),
    ready: async () => void (await connection.request({ method: 'GET', path: '/readyz', read: readNothing })),
    metrics: async () => (await connection.request({ method: 'GET', path: '/metrics', read: readText }))!,
    openApi: () => get('/v1/openapi.json'),
    request: (method, path, given = {}) => change({ method, path, ...given }),
  }
}

/** When the agents of a server are woken, and with which messages. */
interface RemoteSchedules {
  /** Those of all agents, or of one. */
  list(query?: { readonly agent?: string }): Promise<readonly RemoteSchedule[]>
  make(schedule: NewRemoteSchedule): Promise<RemoteSchedule>
  update(id: string, change: RemoteScheduleChange): Promise<RemoteSchedule>
  delete(id: string): Promise<void>
}

function remoteSchedules({ get, post, patch, delete: remove }: JsonRequests): RemoteSchedules {
  const path = (id: string): string => `/v1/schedules/${encodeURIComponent(id)}`
  return {
    list: async (query) => (await get<{ schedules: readonly RemoteSchedule[] }>('/v1/schedules', query)).schedules,
    make: (body) =>
      post('/v1/schedules', { body, headers: { 'idempotency-key': crypto.randomUUID() }, isRepeatable: true }),
    update: (id, change) => patch(path(id), change),
    delete: (id) => remove(path(id), 'no_schedule'),
  }
}

/** The addresses that a server sends events to. */
interface RemoteWebhooks {
  list(): Promise<readonly RemoteWebhook[]>
  /** Gives the secret for the only time. Tried once. */
  make(webhook: {
    readonly url: string
    readonly events: readonly RemoteWebhookEvent[]
    /** Default: a new one. */
    readonly secret?: string
  }): Promise<RemoteWebhook & { readonly secret: string }>
  delete(id: string): Promise<void>
}

type RemoteWebhookEvent = 'run_ended' | 'approval_requested' | 'parked'

interface RemoteWebhook {
  readonly id: string
  readonly url: string
  readonly events: readonly RemoteWebhookEvent[]
  readonly createdAt: number
}

function remoteWebhooks({ get, post, delete: remove }: JsonRequests): RemoteWebhooks {
  return {
    list: async () => (await get<{ webhooks: readonly RemoteWebhook[] }>('/v1/webhooks')).webhooks,
    make: (body) => post('/v1/webhooks', { body }),
    delete: (id) => remove(`/v1/webhooks/${encodeURIComponent(id)}`, 'no_webhook'),
  }
}
