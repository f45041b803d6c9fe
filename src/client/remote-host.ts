import type { JsonRequests } from './json-requests.ts'
import type {
  RemoteAbout,
  RemoteAuditQuery,
  RemoteAuditRecord,
  RemoteExplanation,
  RemoteGrant,
  RemoteMcpServer,
  RemoteMcpTest,
  RemoteModel,
  RemotePolicyCase,
  RemotePolicyResults,
  RemotePolicyTest,
  RemoteProvider,
  RemoteRules,
  RemoteSkill,
  RemoteTool,
  RemoteWikiNode,
} from './remote-host-types.ts'
import type { RemoteUsage, UsageDimension } from './remote-types.ts'

/** Facts about the host of a server. Their types are those of `libero serve`; another host may tell more or less. */
export interface RemoteHost {
  /** The caller, the server, and what it offers. */
  about(): Promise<RemoteAbout>
  /** What the last `days` (default 30) used, by one or two dimensions, default by day. */
  usage(query?: {
    readonly by?: UsageDimension | readonly UsageDimension[]
    readonly days?: number
  }): Promise<RemoteUsage>
  models(): Promise<readonly RemoteModel[]>
  tools(): Promise<readonly RemoteTool[]>
  skills(): Promise<readonly RemoteSkill[]>
  mcp(): Promise<readonly RemoteMcpServer[]>
  /** Begins a login, and gives the address to open. `mcp()` tells when it is done. */
  mcpLogin(name: string): Promise<{ readonly url: string }>
  mcpLogout(name: string): Promise<{ readonly removed: number; readonly revoked: number }>
  /** Connects to a server, and tells what it offers. */
  mcpTest(name: string): Promise<RemoteMcpTest>
  settings(): Promise<unknown>
  changeSettings(changes: Readonly<Record<string, unknown>>): Promise<unknown>
  /** What the rules say about a call. Nothing runs. */
  explain(call: RemotePolicyCase): Promise<RemoteExplanation>
  /** What the rules, or those given, say about calls. Nothing runs. */
  testPolicy(test: RemotePolicyTest): Promise<RemotePolicyResults>
  /** The rules in force, each with its layer. */
  rules(): Promise<RemoteRules>
  grants(): Promise<readonly RemoteGrant[]>
  revokeGrant(id: string): Promise<void>
  /** One page, newest first; `next` is the `cursor` of the next one. */
  audit(query?: RemoteAuditQuery): Promise<{ readonly records: readonly RemoteAuditRecord[]; readonly next?: string }>
  /** Providers of models, and whether each has a key. */
  providers(): Promise<readonly RemoteProvider[]>
  /** Stores the key of a provider, which no answer ever has. `check`: only if the provider accepts it. */
  setKey(provider: string, key: string, options?: { readonly check?: boolean }): Promise<void>
  deleteKey(provider: string): Promise<void>
  /** Wikitext as texts and allowed elements, of which a page makes elements. */
  wikitext(text: string): Promise<readonly RemoteWikiNode[]>
}

export function remoteHost({ get, post, put, patch, delete: remove }: JsonRequests): RemoteHost {
  const list = async <T>(name: string): Promise<T> => (await get<Record<string, T>>(`/v1/${name}`))[name]!
  const server = (name: string): string => `/v1/mcp/${encodeURIComponent(name)}`
  const credential = (provider: string): string => `/v1/credentials/${encodeURIComponent(provider)}`
  return {
    about: () => get('/v1/about'),
    usage: (query) => get('/v1/usage', query),
    models: () => list('models'),
    tools: () => list('tools'),
    skills: () => list('skills'),
    mcp: () => list('mcp'),
    mcpLogin: (name) => post(`${server(name)}/login`, { isRepeatable: true }),
    mcpLogout: (name) => post(`${server(name)}/logout`, { isRepeatable: true }),
    mcpTest: (name) => post(`${server(name)}/test`, { isRepeatable: true, waitMs: 120_000 }),
    settings: () => get('/v1/settings'),
    changeSettings: (changes) => patch('/v1/settings', changes),
    explain: (body) => post('/v1/policy/explain', { body, isRepeatable: true }),
    testPolicy: (body) => post('/v1/policy/test', { body, isRepeatable: true }),
    rules: () => get('/v1/rules'),
    grants: () => list('grants'),
    revokeGrant: (id) => remove(`/v1/grants/${encodeURIComponent(id)}`, 'no_grant'),
    audit: (query) => get('/v1/audit', query),
    providers: () => list('providers'),
    setKey: (provider, key, options) => put(credential(provider), { key, ...options }),
    deleteKey: (provider) => remove(credential(provider), 'no_credential'),
    wikitext: async (text) =>
      (await post<{ nodes: readonly RemoteWikiNode[] }>('/v1/wikitext', { body: { text }, isRepeatable: true })).nodes,
  }
}
