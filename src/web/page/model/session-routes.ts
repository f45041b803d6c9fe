import type { RemoteClient } from '../libero.ts'

export interface RemoteHit {
  readonly session: string
  readonly title?: string
  readonly updatedAt: number
  readonly seq?: number
  readonly where: 'title' | 'user' | 'assistant' | 'call' | 'result'
  readonly excerpt: string
}

export interface RemoteSearch {
  readonly hits: readonly RemoteHit[]
  readonly next?: string
}

export interface SessionChoices {
  readonly model?: { readonly provider: string; readonly model: string }
  readonly mode?: string
  readonly profile?: string
}

const path = (id: string): string => `/v1/sessions/${encodeURIComponent(id)}`

export const search = (client: RemoteClient, q: string, query: object) =>
  client.request('GET', '/v1/search', { query: { q, ...query } }) as Promise<RemoteSearch>

export const sessionSettings = (client: RemoteClient, id: string) =>
  client.request('GET', `${path(id)}/settings`) as Promise<{ readonly profiles: readonly string[] }>

export const changeSessionSettings = (client: RemoteClient, id: string, body: SessionChoices) =>
  client.request('PATCH', `${path(id)}/settings`, { body })

export const why = (client: RemoteClient, id: string, callId: string) =>
  client.request('GET', `${path(id)}/calls/${encodeURIComponent(callId)}/why`) as Promise<{
    readonly lines: readonly string[]
    readonly answer?: { readonly decision: string; readonly by?: string }
  }>

export const sessionContext = (client: RemoteClient, id: string) =>
  client.request('GET', `${path(id)}/context`) as Promise<{
    readonly total: number
    readonly limit?: number
    readonly counts: {
      readonly system: number
      readonly tools?: number
      readonly user: number
      readonly assistant: number
      readonly toolResults: number
    }
  }>

/** A session of a family of copies. */
export interface ForkBranch {
  readonly id: string
  readonly title?: string
  readonly updatedAt: number
  /** The session that it was copied from, and the last entry that both share. */
  readonly origin?: { readonly session: string; readonly seq: number }
  readonly labels: readonly { readonly seq: number; readonly at: number; readonly text: string }[]
}

export const forks = async (client: RemoteClient, id: string): Promise<readonly ForkBranch[]> =>
  ((await client.request('GET', `${path(id)}/forks`)) as { readonly branches: readonly ForkBranch[] }).branches
