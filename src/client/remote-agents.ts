import type { JsonRequests } from './json-requests.ts'
import type {
  NewRemoteAgent,
  RemoteAgentAnswer,
  RemoteAgentChange,
  RemoteAgentContent,
  RemoteAgentDefaults,
  RemoteAgentInstance,
  RemoteAgentMessage,
  RemoteAgentPage,
  RemoteAgentQuery,
  RemoteAgentSettings,
  RemoteAgentState,
  RemoteDefinition,
  RemoteRollback,
  RemoteRollbackPlan,
} from './remote-agent-types.ts'

/** The workflow agents of a server. */
export interface RemoteAgents {
  /** What agents can be made from. */
  definitions(): Promise<readonly RemoteDefinition[]>
  /** One page, the last changed first; `next` is the `cursor` of the next one. */
  list(query?: RemoteAgentQuery): Promise<RemoteAgentPage>
  /** Tried once. */
  make(agent: NewRemoteAgent): Promise<RemoteAgentInstance>
  get(id: string): Promise<RemoteAgentInstance & RemoteAgentState>
  /** What a person may change about an agent. */
  settings(id: string): Promise<RemoteAgentSettings>
  /** Counts from its next message on. `null` takes a change back. Refused while the agent is at work. */
  update(id: string, change: RemoteAgentChange): Promise<RemoteAgentSettings>
  /** What is set for all agents. */
  defaults(): Promise<RemoteAgentDefaults>
  /** Counts from the next call on. */
  changeDefaults(change: Partial<RemoteAgentDefaults>): Promise<RemoteAgentDefaults>
  messages(
    id: string,
    range?: { readonly from?: number; readonly to?: number },
  ): Promise<{ readonly messages: readonly RemoteAgentMessage[]; readonly count: number }>
  /** Stores a message; with the same key it is one message. Resolves with its key. */
  send(id: string, content: RemoteAgentContent, options?: { readonly key?: string }): Promise<string>
  /** Answers a call of `pending` as it was shown. Tried once. */
  answer(id: string, approvalId: string, answer: RemoteAgentAnswer): Promise<void>
  /** Stops its work and denies its pending calls. Its state says when it has stopped. */
  stop(id: string): Promise<void>
  /** Closes it for good. Its messages stay. */
  close(id: string): Promise<void>
  delete(id: string): Promise<void>
  /** Removes a message of a person and all later ones, and gives its content, unless the caller may not read. Tried once. */
  rewind(id: string, message: string): Promise<{ readonly content?: RemoteAgentContent }>
  /** What `rollback` would do. */
  planRollback(id: string, message: string): Promise<RemoteRollbackPlan>
  /** Restores the files from before a message. Tried once. */
  rollback(id: string, message: string, options?: { readonly force?: boolean }): Promise<RemoteRollback>
  undoRollback(id: string, message: string, options?: { readonly force?: boolean }): Promise<RemoteRollback>
}

export function remoteAgents({ get, post, patch, delete: remove }: JsonRequests): RemoteAgents {
  return {
    definitions: async () => (await get<{ definitions: readonly RemoteDefinition[] }>('/v1/definitions')).definitions,
    list: (query) => get('/v1/agents', query),
    make: (body) => post('/v1/agents', { body }),
    get: (id) => get(agentPath(id)),
    settings: (id) => get(`${agentPath(id)}/settings`),
    update: (id, change) => patch(agentPath(id), change),
    defaults: () => get('/v1/agent-settings'),
    changeDefaults: (change) => patch('/v1/agent-settings', change),
    messages: (id, range) => get(`${agentPath(id)}/messages`, range),
    async send(id, content, { key = crypto.randomUUID() } = {}) {
      const path = `${agentPath(id)}/messages`
      await post(path, { body: { content }, headers: { 'idempotency-key': key }, isRepeatable: true })
      return key
    },
    answer: async (id, approvalId, body) =>
      void (await post(`${agentPath(id)}/answers/${encodeURIComponent(approvalId)}`, { body })),
    stop: (id) => post(`${agentPath(id)}/stop`, { isRepeatable: true }),
    close: (id) => post(`${agentPath(id)}/close`, { isRepeatable: true }),
    delete: (id) => remove(agentPath(id), 'no_agent'),
    rewind: (id, message) => post(`${agentPath(id)}/rewind`, { body: { message } }),
    planRollback: (id, message) => get(`${agentPath(id)}/rollback`, { message }),
    rollback: (id, message, options) => post(`${agentPath(id)}/rollback`, { body: { message, ...options } }),
    undoRollback: (id, message, options) => post(`${agentPath(id)}/undo-rollback`, { body: { message, ...options } }),
  }
}

const agentPath = (id: string): string => `/v1/agents/${encodeURIComponent(id)}`
