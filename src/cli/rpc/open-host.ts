import { type Authority, createAuthority } from '../../authority/authority.ts'
import type { ExecutionContext } from '../../core/execution.ts'
import type { Extension } from '../../core/run.ts'
import { version } from '../../core/version.ts'
import { createAgent } from '../../create-agent.ts'
import { compactNow } from '../../extensions/compact-now.ts'
import type { RpcHost } from '../../rpc/host.ts'
import { CliError } from '../cli-error.ts'
import type { RpcValues } from '../commands/rpc.ts'
import { defaultTurns } from '../config/defaults.ts'
import type { Io } from '../io.ts'
import { checkedFlags, serversHere } from '../mcp/servers-here.ts'
import { linesView } from '../mcp/servers-view.ts'
import { folderOf } from '../run/folder.ts'
import { systemPrompt } from '../run/system-prompt.ts'
import { openWorkspace, type Workspace } from '../run/workspace.ts'
import { skillsOption } from '../skills/skills-option.ts'
import { type AgentHostOptions, createAgentHost } from './agent-host.ts'
import { chooseWithKey } from './choose-with-key.ts'
import { servedModels } from './served-models.ts'
import { zotAliases, zotTools } from './zot-tools.ts'

/** Puts together what flags and settings ask for. `closing` is told, step by step, what has to be closed again. */
export async function openHost(values: RpcValues, io: Io, closing: Closing): Promise<RpcHost> {
  const tools = zotTools({
    none: values['no-tools'] ?? false,
    ...(values.tools !== undefined && { only: values.tools }),
  })
  const flags = await checkedFlags(values.mcp, io)
  const cwd = await folderOf(values.cwd, io)
  const workspace = await openWorkspace(cwd, { io })
  closing.push(() => workspace.project.dispose())
  const { project, loaded } = workspace
  const { config } = loaded
  const { provider, name, model } = await chooseWithKey(values, config, io)
  const authority = authorityOf(values, workspace, io)
  closing.push(() => authority.close())
  const { notice } = project
  const warnings = [...warningsOf(values), ...loaded.warnings, ...authority.warnings]
  for (const warning of notice === undefined ? warnings : [...warnings, notice]) io.err(`libero: ${warning}`)
  const view = linesView((line) => io.err(`libero: ${line}`))
  const only = isNarrowed(values) ? ('flags' as const) : undefined
  const servers = await serversHere(flags, { workspace, io, view, ...(only && { only }) })
  for (const line of servers?.notices ?? []) io.err(`libero: ${line}`)
  const compaction = compactNow()
  const agent = createAgent({
    provider,
    system: systemOf(values, workspace),
    tools: without(tools, config.withoutTools ?? []),
    toolAliases: zotAliases,
    behavior: {
      maxTurns: Math.min(Number(values['max-steps'] ?? defaultTurns), config.maxTurns ?? Number.POSITIVE_INFINITY),
      compactStrategy: 'summary',
      ...(config.maxCost !== undefined && { limits: { cost: config.maxCost } }),
      ...(config.toolDisclosure && { toolDisclosure: config.toolDisclosure }),
    },
    execution: await executionOf(workspace),
    authority,
    ...servers?.options,
    ...(values['with-skills'] && !values['no-skill'] && skillsOption(workspace, io)),
    extensions: [compaction, ...(isNarrowed(values) ? [] : [await toolsInFiles(workspace, authority, io)])],
  })
  servers?.follow(agent)
  closing.push(() => agent.destroy())
  const { 'base-url': baseURL } = values
  const models = servedModels({ provider: name, model, config, io, ...(baseURL !== undefined && { baseURL }) })
  const run = runOf(values, workspace)
  return createAgentHost({ agent, compaction, version, provider: name, model, cwd, models, run })
}

/** What is to be closed, the last one first. */
export type Closing = (() => Promise<void> | void)[]

/** What to tell a person about flags that zot has and we do not. */
function warningsOf(values: RpcValues): string[] {
  const given = [
    values['no-yolo'] && '--no-yolo has no effect over rpc, where nobody can be asked; see --mode',
    values.ext && '--ext has no effect: this version has no extensions of other programs',
  ]
  return given.filter((text) => typeof text === 'string')
}

/** Whoever drives it cannot be asked: what a person would have to approve in every mode is denied. */
function authorityOf({ mode = 'yolo' }: RpcValues, { cwd, project, loaded }: Workspace, { home }: Io): Authority {
  return createAuthority({
    mode,
    floor: 'deny',
    layers: loaded.layers,
    home,
    workspace: { root: cwd, isTrusted: project.isTrusted },
  })
}

function systemOf(values: RpcValues, { cwd, project, loaded }: Workspace): string {
  const first = values['system-prompt'] ?? systemPrompt(cwd, project.instructions, loaded.config.system)
  return [first, ...(values['append-system-prompt'] ?? [])].filter((text) => text !== '').join('\n\n')
}

function without<T>(tools: Readonly<Record<string, T>>, names: readonly string[]): Readonly<Record<string, T>> {
  return Object.fromEntries(
    Object.entries(tools).filter(([name]) => !names.includes(name) && !names.includes(zotAliases[name] ?? name)),
  )
}

/** Where the settings want a container or a sandbox, there is one, or nothing at all. */
async function executionOf({ cwd, loaded: { config } }: Workspace): Promise<ExecutionContext> {
  const { context, image, sandbox } = config
  if (context === 'docker') {
    if (image === undefined) throw new CliError('the config says context "docker" without an image; add one to it')
    return (await import('../../execution/docker.ts')).createDockerContext({ image, cwd })
  }
  if (sandbox) return (await import('../../execution/bubblewrap.ts')).createBubblewrapContext({ cwd })
  return (await import('../../execution/process.ts')).createProcessContext({ cwd })
}

/** Where only some tools are wanted, those of the user's and the project's files are not among them. */
const isNarrowed = (values: RpcValues): boolean => values['no-tools'] === true || values.tools !== undefined

async function toolsInFiles({ cwd, project }: Workspace, { interact }: Authority, { home }: Io): Promise<Extension> {
  const { layeredTools } = await import('../../layers/layered-tools.ts')
  const { mayReadTools: mayReadProject, revoked } = project
  return layeredTools({ home, projectRoot: cwd, mayReadProject, revoked, interact })
}

function runOf({ reasoning }: RpcValues, { loaded }: Workspace): AgentHostOptions['run'] {
  const thinking = reasoning ?? loaded.config.thinking
  return thinking === undefined ? {} : { thinking }
}
