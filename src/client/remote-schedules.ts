import type { JsonRequests } from './json-requests.ts'
import type { NewRemoteSchedule, RemoteSchedule, RemoteScheduleChange } from './remote-agent-types.ts'

/** When the agents of a server are woken, and with which messages. */
export interface RemoteSchedules {
  /** Those of all agents, or of one. */
  list(query?: { readonly agent?: string }): Promise<readonly RemoteSchedule[]>
  make(schedule: NewRemoteSchedule): Promise<RemoteSchedule>
  update(id: string, change: RemoteScheduleChange): Promise<RemoteSchedule>
  delete(id: string): Promise<void>
}

export function remoteSchedules({ get, post, patch, delete: remove }: JsonRequests): RemoteSchedules {
  const path = (id: string): string => `/v1/schedules/${encodeURIComponent(id)}`
  return {
    list: async (query) => (await get<{ schedules: readonly RemoteSchedule[] }>('/v1/schedules', query)).schedules,
    make: (body) =>
      post('/v1/schedules', { body, headers: { 'idempotency-key': crypto.randomUUID() }, isRepeatable: true }),
    update: (id, change) => patch(path(id), change),
    delete: (id) => remove(path(id), 'no_schedule'),
  }
}
