import { basename, extname } from 'node:path'
import { projectNames } from '../../authority/trust/project-names.ts'
import type { Effect } from '../../core/authority.ts'
import type { Provider } from '../../core/provider.ts'
import { defaultTimeoutMs, type JsonSchema, type ReplayClass, type ToolDef } from '../../core/tool.ts'
import { createAgent } from '../../create-agent.ts'
import { layeredTools } from '../../layers/layered-tools.ts'
import type { ToolListing, ToolState } from '../../layers/tool-collector.ts'
import { fullyVisible, visibleName } from '../../platform/visible-text.ts'
import { excludedTools } from '../assembly/assemble.ts'
import { loadPreset, presetName } from '../assembly/preset.ts'
import { openWorkspace, type Workspace } from '../assembly/workspace.ts'
import type { RunValues } from '../commands/run.ts'
import type { Config } from '../config/config.ts'
import type { Io } from '../io.ts'
import { resolveCwd } from '../run/flag-files.ts'
import { table } from '../table.ts'

/** A tool of an agent in this folder, or the reason why the agent does not have it. */
export interface ListedTool {
  readonly name: string
  readonly layer: ToolListing['layer'] | 'program'
  /** `active`: the agent has it. */
  readonly state: ToolState
  /** What the model reads of it; absent if it was not opened. */
  readonly description?: string
  readonly inputSchema?: JsonSchema
  /** Whether it has a key of its own, which rules can name; else an approval covers the same arguments only. */
  readonly isKeyed?: boolean
  /** Whether a call may run again after a crash. */
  readonly replay?: ReplayClass
  /** In milliseconds; 0 means none. */
  readonly timeoutMs?: number
  /** Absent if they depend on the input or are unknown. */
  readonly effects?: readonly Effect[]
  readonly path?: string
  /** The layers whose tools of that name it replaces. */
  readonly shadows?: readonly string[]
  /** Why it is not active. */
  readonly diagnostic?: string
}

type ToolsQuery = Pick<RunValues, 'preset' | 'profile' | 'cwd'>

/** All tools of an agent in a folder. Asks no questions, and opens nothing of a project that is not trusted. */
export async function listTools(
  query: ToolsQuery,
  io: Io,
): Promise<{ tools: readonly ListedTool[]; notices: readonly string[] }> {
  const workspace = await openWorkspace(await resolveCwd(query.cwd, io), { io })
  const { project, loaded } = workspace
  try {
    const own = await programTools(query, loaded.config)
    const files = await toolsInFiles(own, workspace, io)
    const waiting = project.isTrusted() ? [] : await untrusted(workspace)
    const tools = [
      ...own.map((tool) => listed(tool, files)),
      ...files.map((file) => withProgram(file, own)),
      ...waiting,
    ]
    const notices = [...loaded.warnings, ...noticeOf(workspace), ...aboutServers(workspace)]
    return { tools: tools.toSorted((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0)), notices }
  } finally {
    project.dispose()
  }
}

/** The tools of the preset, without those that the settings leave out. */
export async function programTools(query: ToolsQuery, config: Config): Promise<readonly ToolDef[]> {
  const { tools = {} } = await loadPreset(presetName(query, config))
  const left = new Set(excludedTools(config))
  return Object.values(tools).filter(({ spec }) => !left.has(spec.name))
}

/** Loads them in a temporary agent. */
async function toolsInFiles(
  own: readonly ToolDef[],
  { cwd, project }: Workspace,
  { home, env }: Io,
): Promise<readonly ToolListing[]> {
  const { mayReadTools: mayReadProject, revoked } = project
  const layers = layeredTools({ home, projectRoot: cwd, mayReadProject, revoked, env })
  const tools = Object.fromEntries(own.map((tool) => [tool.spec.name, tool]))
  const agent = createAgent({ provider: noProvider, tools, extensions: [layers] })
  try {
    await agent.warmup()
    return layers.list()
  } finally {
    await agent.destroy()
  }
}

/** No request is made here. */
const noProvider: Provider = {
  meta: { name: 'none', defaultModel: 'none' },
  // biome-ignore lint/correctness/useYield: it always fails
  async *stream() {
    throw new Error('there is no model here')
  },
}

function listed(tool: ToolDef, files: readonly ToolListing[]): ListedTool {
  const { spec, effects, replay = 'opaque', timeoutMs = defaultTimeoutMs } = tool
  const { name, description, inputSchema } = spec
  const others = files.filter((file) => file.name === name)
  const isTaken = others.some(({ state }) => state === 'active')
  const off = others.find(({ state }) => state === 'off' || state === 'disabled')
  return {
    name,
    layer: 'program',
    state: isTaken ? 'shadowed' : (off?.state ?? 'active'),
    ...{ description, inputSchema, replay, timeoutMs, isKeyed: tool.deriveApprovalKey !== undefined },
    ...(Array.isArray(effects) && { effects }),
  }
}

function withProgram(
  { name, layer, state, description, inputSchema, effects, path, shadows = [], diagnostic }: ToolListing,
  own: readonly ToolDef[],
): ListedTool {
  const isOverOurs = state === 'active' && own.some(({ spec }) => spec.name === name)
  const hidden = [...shadows.map((origin) => origin.layer), ...(isOverOurs ? ['program'] : [])]
  return {
    name,
    layer,
    state,
    ...(description !== undefined && { description }),
    ...(inputSchema && { inputSchema }),
    ...(effects && { effects }),
    ...(path !== undefined && { path }),
    ...(hidden.length > 0 && { shadows: hidden }),
    ...(diagnostic !== undefined && { diagnostic }),
  }
}

/** The project's notice, reworded for the command line. */
function noticeOf({ project: { state, notice, root } }: Workspace): string[] {
  if (state === 'restricted' || state === 'declined')
    return [`${fullyVisible(root)} is not trusted, so its tools are left out; to see them and decide: libero trust`]
  return notice === undefined ? [] : [notice]
}

/** The tools of MCP servers are known only after connecting, which a list does not do. */
function aboutServers({ project, loaded: { config } }: Workspace): string[] {
  const own = Object.keys(config.mcpServers ?? {})
  const names = new Set([...own, ...project.items.flatMap(({ server }) => (server ? [server.name] : []))])
  if (names.size === 0) return []
  const shown = [...names].map((name) => fullyVisible(name)).join(', ')
  return [`The tools of MCP servers are not listed here (${shown}); to see them: libero mcp test all`]
}

/** Listed by file name only. */
async function untrusted({ project }: Workspace): Promise<ListedTool[]> {
  const { names } = await projectNames(project.root)
  return names
    .filter(({ kind }) => kind === 'tool')
    .map(({ path }) => ({
      name: basename(path, extname(path)),
      layer: 'project',
      state: 'pending',
      path,
      diagnostic: 'the project is not trusted, so it was not opened; see: libero trust',
    }))
}

/** A table of tools for a terminal, each with its path and problem below it. */
export const toolTable = (tools: readonly ListedTool[]): string[] =>
  table(['tool', 'from', 'state', 'does'], tools, {
    row: ({ name, layer, state, effects }) => [visibleName(name), layer, state, effectsText(effects)],
    below: ({ path, shadows, diagnostic }) => [
      ...(path === undefined ? [] : [visibleName(path)]),
      ...(shadows ? [`replaces: ${shadows.join(', ')}`] : []),
      ...(diagnostic === undefined ? [] : [fullyVisible(diagnostic)]),
    ],
  })

function effectsText(effects: ListedTool['effects']): string {
  if (effects === undefined) return 'unknown'
  return effects.map((effect) => effectLabels[effect] ?? visibleName(effect)).join(', ') || 'no effects'
}

const effectLabels: Readonly<Record<string, string>> = {
  'fs.read': 'reads files',
  'fs.write': 'writes files',
  exec: 'runs commands',
  net: 'uses the network',
  spawn: 'starts sub-agents',
  'schedule.write': 'changes schedules',
  ask: 'asks you',
}
