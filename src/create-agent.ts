import type { Authority, AuthorityOptions } from './authority/authority.ts'
import { type Agent, type AgentParts, assembleAgent } from './core/agent.ts'
import { checkBehavior, isBehavior, show } from './core/behavior.ts'
import type { ChildPreset } from './core/fork.ts'
import type { Interact } from './core/interaction.ts'
import { didYouMean } from './core/nearest.ts'
import type { Extension } from './core/run.ts'
import { isRunOption } from './core/run-options.ts'
import type { Schema } from './core/schema.ts'
import { createProcessContext } from './execution/process.ts'
import { checkMcpServers } from './mcp/config.ts'
import { connectMcpServers, type McpConnector, type McpServer } from './mcp/connections.ts'
import type { McpExtension } from './mcp/extension.ts'
import { lazyTools } from './presets/lazy-tools.ts'
import type { AgentOptions, Preset } from './presets/preset.ts'
import { standardExtensions } from './presets/standard.ts'
import { withAliases } from './providers/aliases.ts'
import { withoutVision } from './providers/without-vision.ts'
import { checkSkillsConfig } from './skills/check-config.ts'
import { type LazySkills, lazySkills, type SkillActions, withSkills } from './skills/lazy-skills.ts'

/** The handle that `createAgent` gives. */
export interface LiberoAgent<OutputSchema extends Schema = Schema> extends Agent<OutputSchema>, SkillActions {
  /** The MCP servers, connected or not, with their prompts and resources. Warms the agent up if nobody has. */
  mcpServers(): Promise<readonly McpServer[]>
}

/** Puts an agent together. Synchronous: nothing is connected or started before it is needed. */
export function createAgent<OutputSchema extends Schema = Schema>(
  options: AgentOptions<OutputSchema>,
): LiberoAgent<OutputSchema> {
  checkOptions(options)
  const authority = options.authority && lateAuthority(options.authority)
  const mcp = lateMcp(options)
  const skills = options.skills && lazySkills(options.skills)
  const { eager } = options
  const agent = assembleAgent({ ...partsOf(options, authority, skills, mcp), ...(eager !== undefined && { eager }) })
  return Object.assign(withSkills(agent, skills), {
    async mcpServers() {
      await agent.warmup()
      return (await mcp?.servers()) ?? []
    },
  })
}

function partsOf(
  options: AgentOptions,
  authority: LateAuthority | undefined,
  skills: LazySkills | undefined,
  mcp: LateMcp | undefined,
): AgentParts {
  const {
    toolAliases = {},
    mcpServers: ____,
    mcpConnector: _____,
    extensions = [],
    skills: __,
    authority: ___,
    execution = createProcessContext(),
    eager: _,
    ...same
  } = options
  return {
    ...same,
    execution,
    provider: withAliases(withoutVision(options.provider), toolAliases),
    ...(authority && { interact: authority.interact }),
    // The framework's own come last, and so have the last word at a gate; but nobody comes between a call and the authority.
    extensions: [
      lazyTools(),
      ...(skills ? [skills.extension] : []), // it only refuses, and nobody is asked about what it refuses
      ...(authority ? [authority.extension] : []),
      ...(mcp ? [mcp.extension] : []),
      ...extensions,
      lazyTools(), // those that the extensions above brought
      ...standardExtensions(),
    ],
    childParts: (preset) => childParts(options, preset, { authority, skills, mcp }),
  }
}

/** Loaded at warmup, by the agents that have servers. */
interface LateMcp {
  readonly extension: Extension
  servers(): Promise<readonly McpServer[]>
}

function lateMcp({ mcpServers = [], mcpConnector = connectLate }: AgentOptions): LateMcp | undefined {
  if (mcpServers.length === 0) return undefined
  let loading: Promise<McpExtension> | undefined
  const load = (): Promise<McpExtension> => {
    loading ??= import('./mcp/extension.ts').then(({ mcpTools }) => mcpTools(mcpServers, mcpConnector))
    return loading
  }
  return {
    servers: async () => (await load()).servers,
    extension: {
      name: 'mcp',
      warmup: async (host) => (await load()).warmup?.(host),
      start: async (run, hooks) => (await load()).start?.(run, hooks),
      dispose: async () => (await loading)?.dispose?.(),
    },
  }
}

const connectLate: McpConnector = (configs, host) => connectMcpServers(configs, host)

/** An authority that is loaded by the first run. */
interface LateAuthority {
  readonly extension: Extension
  readonly interact: Interact
  load(): Promise<Authority>
}

function lateAuthority(given: Authority | AuthorityOptions): LateAuthority {
  return late(async () => {
    if (isAuthority(given)) return given
    return (await import('./authority/authority.ts')).createAuthority(given)
  }, !isAuthority(given))
}

const isAuthority = (given: Authority | AuthorityOptions): given is Authority => 'judge' in given

function late(load: () => Promise<Authority>, isOurs: boolean): LateAuthority {
  let loading: Promise<readonly [Authority, Extension]> | undefined
  const loaded = (): Promise<readonly [Authority, Extension]> =>
    (loading ??= load().then((authority) => [authority, authority.extension()] as const))
  return {
    load: async () => (await loaded())[0],
    interact: async (...asked) => (await loaded())[0].interact(...asked),
    extension: {
      name: 'authority',
      start: async (run, hooks) => (await loaded())[1].start?.(run, hooks),
      // One that was handed in may serve others.
      dispose: async () => (isOurs ? (await loading)?.[0].close() : undefined),
    },
  }
}

/** A child's own rules come on top of its parent's. */
function narrowed(above: LateAuthority | undefined, own: Preset['authority']): LateAuthority | undefined {
  if (!own || !above) return own ? lateAuthority(own) : above
  return late(async () => (await above.load()).narrow(own), false)
}

/** What is the parent's stays his: a child that ends does not close it. */
function lent(authority: LateAuthority | undefined, above: LateAuthority | undefined): LateAuthority | undefined {
  if (!authority || authority !== above) return authority
  return { ...authority, extension: borrowed(authority.extension) }
}

/** A child differs from its parent in what its preset says; only what has to is built anew. */
function childParts(
  options: AgentOptions,
  preset: ChildPreset,
  above: { authority: LateAuthority | undefined; skills: LazySkills | undefined; mcp: LateMcp | undefined },
): Partial<AgentParts> {
  const own = preset as Preset
  const merged: AgentOptions = { ...options, ...own }
  checkOptions(merged)
  const inherited = own.extensions ?? options.extensions?.map(borrowed) ?? []
  const authority = lent(narrowed(above.authority, own.authority), above.authority)
  // Never none where there were some: the skills of a parent bind its children.
  const skills = own.skills ? lazySkills(own.skills) : above.skills && withLent(above.skills)
  // One process per server: a child that brings none of its own uses those its parent is connected to.
  const mcp = own.mcpServers ? lateMcp(merged) : above.mcp && withLent(above.mcp)
  const parts = partsOf({ ...merged, extensions: inherited }, authority, skills, mcp)
  const { provider, extensions, childParts, interact } = parts
  const { name, system, tools, behavior, hooks } = own
  const needsOwn = ownParts.some((part) => own[part] !== undefined)
  return {
    provider,
    ...(childParts && { childParts }),
    ...(interact && { interact }),
    ...(needsOwn && extensions && { extensions }),
    ...(name !== undefined && { name }),
    ...(system !== undefined && { system }),
    ...(tools && { tools }),
    ...(behavior && { behavior }),
    ...(hooks && { hooks }),
  }
}

/** What a child cannot have of its own without a list of extensions of its own. */
const ownParts = ['mcpServers', 'extensions', 'authority', 'skills'] as const

const withLent = <T extends { readonly extension: Extension }>(late: T): T => ({
  ...late,
  extension: borrowed(late.extension),
})

/** The parent's own: it warms up and disposes of them itself. */
function borrowed(extension: Extension): Extension {
  return { name: extension.name, start: (run, hooks) => extension.start?.(run, hooks) }
}

const known: Record<keyof AgentOptions, 'object' | 'string' | 'boolean' | 'function' | 'list'> = {
  provider: 'object',
  name: 'string',
  system: 'string',
  tools: 'object',
  toolAliases: 'object',
  session: 'object',
  behavior: 'object',
  authority: 'object',
  execution: 'object',
  mcpServers: 'list',
  mcpConnector: 'function',
  eager: 'boolean',
  hooks: 'object',
  skills: 'object',
  extensions: 'list',
  clock: 'object',
  newId: 'function',
}

function checkOptions(options: unknown): asserts options is AgentOptions {
  if (typeof options !== 'object' || options === null)
    throw new TypeError(`createAgent takes an object such as { provider }, got ${show(options)}`)
  for (const [name, value] of Object.entries(options)) {
    const wanted = Object.hasOwn(known, name) ? known[name as keyof AgentOptions] : undefined
    if (wanted === undefined)
      throw new TypeError(
        `createAgent has no option "${name}"${elsewhere(name) ?? didYouMean(name, Object.keys(known))}`,
      )
    if (value !== undefined && kindOf(value) !== wanted)
      throw new TypeError(
        `createAgent option "${name}" must be ${wanted === 'object' ? 'an object' : `a ${wanted}`}, got ${show(value)}`,
      )
  }
  const {
    provider,
    session,
    behavior,
    mcpServers = [],
    mcpConnector,
    extensions = [],
    skills = {},
  } = options as Partial<AgentOptions>
  if (typeof provider?.stream !== 'function' || typeof provider.meta?.defaultModel !== 'string')
    throw new TypeError(`createAgent needs a provider with meta.defaultModel and stream(), got ${show(provider)}`)
  if (session && !session.log)
    throw new TypeError(
      'createAgent option "session" must come from createSession or loadSession; did you forget to await it?',
    )
  for (const [i, extension] of extensions.entries())
    if (typeof extension?.name !== 'string')
      throw new TypeError(
        `extensions[${i}] must be an Extension with a name, got ${show(extension)}; if it is a function, call it`,
      )
  checkSkillsConfig(skills)
  if (!mcpConnector) checkMcpServers(mcpServers) // a connector of one's own may know other servers
  checkBehavior(behavior, 'behavior')
}

/** Options that exist, only not here. */
function elsewhere(name: string): string | undefined {
  if (isBehavior(name)) return `; it is behavior.${name}`
  return isRunOption(name) ? `; pass it to run({ ${name} })` : undefined
}

function kindOf(value: unknown): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'list' : typeof value
}
