import type { Authority, AuthorityOptions } from './authority/authority.ts'
import { type Agent, type AgentParts, assembleAgent } from './core/agent.ts'
import { checkBehavior, isBehavior, show } from './core/behavior.ts'
import type { ChildPreset } from './core/children.ts'
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

/** The agent that `createAgent` returns. */
export interface LiberoAgent<OutputSchema extends Schema = Schema> extends Agent<OutputSchema>, SkillActions {
  /** All MCP servers, connected or not, with their prompts and resources. Warms the agent up first. */
  mcpServers(): Promise<readonly McpServer[]>
}

/** Creates an agent. Synchronous: nothing is connected or started before it is needed. */
export function createAgent<OutputSchema extends Schema = Schema>(
  options: AgentOptions<OutputSchema>,
): LiberoAgent<OutputSchema> {
  checkOptions(options)
  const authority = options.authority && lazyAuthority(options.authority)
  const mcp = lazyMcp(options)
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
  authority: LazyAuthority | undefined,
  skills: LazySkills | undefined,
  mcp: LazyMcp | undefined,
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
    // The standard extensions come last, so their gates decide last. The authority comes before the embedder's extensions.
    extensions: [
      lazyTools(),
      ...(skills ? [skills.extension] : []), // before the authority: a person is not asked about a call that skills refuse anyway
      ...(authority ? [authority.extension] : []),
      ...(mcp ? [mcp.extension] : []),
      ...extensions,
      lazyTools(), // for tools that the extensions above added
      ...standardExtensions(),
    ],
    childParts: (preset) => childParts(options, preset, { authority, skills, mcp }),
  }
}

/** MCP servers whose code is loaded at warmup. */
interface LazyMcp {
  readonly extension: Extension
  servers(): Promise<readonly McpServer[]>
}

function lazyMcp({ mcpServers = [], mcpConnector = connectOnUse }: AgentOptions): LazyMcp | undefined {
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

const connectOnUse: McpConnector = (configs, host) => connectMcpServers(configs, host)

/** An authority whose code is loaded by the first run. */
interface LazyAuthority {
  readonly extension: Extension
  readonly interact: Interact
  load(): Promise<Authority>
}

function lazyAuthority(given: Authority | AuthorityOptions): LazyAuthority {
  return lazyAuthorityFrom(async () => {
    if (isAuthority(given)) return given
    return (await import('./authority/authority.ts')).createAuthority(given)
  }, !isAuthority(given))
}

const isAuthority = (given: Authority | AuthorityOptions): given is Authority => 'judge' in given

function lazyAuthorityFrom(load: () => Promise<Authority>, isOwned: boolean): LazyAuthority {
  let loading: Promise<readonly [Authority, Extension]> | undefined
  const loaded = (): Promise<readonly [Authority, Extension]> =>
    (loading ??= load().then((authority) => [authority, authority.extension({ isShared: !isOwned })] as const))
  let extension: Extension | undefined
  return {
    load: async () => (await loaded())[0],
    interact: async (...asked) => (await loaded())[0].interact(...asked),
    extension: {
      name: 'authority',
      async warmup(host) {
        extension = (await loaded())[1]
        await extension.warmup?.(host)
      },
      stateEntries: (run) => extension?.stateEntries?.(run) ?? [],
      start: async (run, hooks) => (await loaded())[1].start?.(run, hooks),
      // An authority that the embedder passed may serve other agents too.
      dispose: async () => (await loading)?.[1].dispose?.(),
    },
  }
}

/** The rules of a child are added to those of its parent. */
function narrowed(parent: LazyAuthority | undefined, own: Preset['authority']): LazyAuthority | undefined {
  if (!own || !parent) return own ? lazyAuthority(own) : parent
  return lazyAuthorityFrom(async () => (await parent.load()).narrow(own), false)
}

/** The authority for a child. One of the parent is not closed when the child ends. */
function borrowedAuthority(
  authority: LazyAuthority | undefined,
  parent: LazyAuthority | undefined,
): LazyAuthority | undefined {
  if (!authority || authority !== parent) return authority
  return { ...authority, extension: borrowed(authority.extension) }
}

/** The parts in which a child with this preset differs from its parent. */
function childParts(
  options: AgentOptions,
  preset: ChildPreset,
  parent: { authority: LazyAuthority | undefined; skills: LazySkills | undefined; mcp: LazyMcp | undefined },
): Partial<AgentParts> {
  const own = preset as Preset
  const merged: AgentOptions = { ...options, ...own }
  checkOptions(merged)
  const inherited = own.extensions ?? options.extensions?.map(borrowed) ?? []
  const authority = borrowedAuthority(narrowed(parent.authority, own.authority), parent.authority)
  // The skills of a parent always apply to its children too.
  const skills = own.skills ? lazySkills(own.skills) : parent.skills && withBorrowed(parent.skills)
  // One process per server: a child without servers of its own uses its parent's connections.
  const mcp = own.mcpServers ? lazyMcp(merged) : parent.mcp && withBorrowed(parent.mcp)
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

/** Parts of a preset that need extensions of the child's own. */
const ownParts = ['mcpServers', 'extensions', 'authority', 'skills'] as const

const withBorrowed = <T extends { readonly extension: Extension }>(lazy: T): T => ({
  ...lazy,
  extension: borrowed(lazy.extension),
})

/** An extension of the parent, which warms it up and disposes of it itself. */
function borrowed(extension: Extension): Extension {
  return {
    name: extension.name,
    start: (run, hooks) => extension.start?.(run, hooks),
    stateEntries: (run) => extension.stateEntries?.(run) ?? [],
  }
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
        `createAgent option "${name}" must be ${examples[name] ?? (wanted === 'object' ? 'an object' : `a ${wanted}`)}, got ${show(value)}`,
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
  if (!mcpConnector) checkMcpServers(mcpServers) // a custom connector may know other kinds of servers
  checkBehavior(behavior, 'behavior')
}

/** A hint for an option that exists elsewhere. */
function elsewhere(name: string): string | undefined {
  if (isBehavior(name)) return `; it is behavior.${name}`
  if (Object.hasOwn(otherNames, name)) return `; write ${otherNames[name]}`
  return isRunOption(name) ? `; pass it to run({ ${name} })` : undefined
}

/** Options that other libraries take in another form. */
const examples: Readonly<Record<string, string>> = {
  tools: 'tools by name, as in { add: defineTool({ … }) }',
  mcpServers: 'a list of servers, as in [{ name, transport, … }]',
}

/** What other libraries call it, and how it is written here. */
const otherNames: Readonly<Record<string, string>> = { instructions: 'system' }

function kindOf(value: unknown): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'list' : typeof value
}
