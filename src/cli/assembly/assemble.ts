import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { AuthorityOptions } from '../../authority/authority.ts'
import type { Interactor } from '../../authority/interaction/interactor-queue.ts'
import type { ExecutionContext } from '../../core/execution.ts'
import type { Extension } from '../../core/run.ts'
import type { ThinkingLevel } from '../../core/thinking.ts'
import { createProcessContext } from '../../execution/process.ts'
import type { McpServerConfig } from '../../mcp/config.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import type { SkillsConfig } from '../../skills/skill.ts'
import { openAudit } from '../audit/open-audit.ts'
import { UsageError } from '../cli-error.ts'
import type { RunValues } from '../commands/run.ts'
import type { Config } from '../config/config.ts'
import type { Io } from '../io.ts'
import type { ServerEntry } from '../mcp/gather-servers.ts'
import type { OpenedServers } from '../mcp/open-servers.ts'
import { openServersIfAny, parseMcpFlags, type ServersView } from '../mcp/servers.ts'
import type { ChosenModel } from '../models/choose-model.ts'
import { readSize } from '../sessions/retention.ts'
import { checkRuleNames } from './check-rule-names.ts'
import { type PresetName, presetName } from './preset.ts'
import { sandboxPathsOf } from './sandbox-paths.ts'
import { type SandboxStatus, sandboxStatus } from './sandbox-status.ts'
import { telemetryExtensions } from './telemetry.ts'
import { hookExtensions } from './without-code.ts'
import { openWorkspace, type Workspace } from './workspace.ts'

/** The flags that configure an agent. Each command has some of them; settings complete the rest. */
type AgentFlags = Pick<
  RunValues,
  | ('profile' | 'preset' | 'thinking')
  | ('context' | 'sandbox' | 'image')
  | ('mode' | 'allow' | 'deny' | 'yolo')
  | ('mcp' | 'skill')
>

/** The commands that run agents. What is true of one must be true of all: tests walk through this list. */
export type AgentCommand = 'run' | 'rpc' | 'acp' | 'mcp-serve' | 'serve' | 'agents' | 'schedules'

export interface AssemblyOptions {
  /** For the audit. */
  readonly command: AgentCommand
  readonly io: Io
  /** Absolute. */
  readonly cwd: string
  /** The person to ask. Without one, a run halts where it would ask. */
  readonly person?: Interactor
  /** The person is asked about all calls of a turn at once. */
  readonly asksAtOnce?: boolean
  /** Receives notices about MCP servers and failed hooks. */
  readonly view: ServersView
  /** `left out`: the folder's settings, instructions, tools, skills and servers are not used. */
  readonly project?: 'left out'
  /** The approval mode if neither flags nor settings name one. Default `ask`. */
  readonly defaultMode?: AuthorityOptions['mode']
  /** What happens to calls that need an approval in every mode. Default `ask`. */
  readonly floor?: AuthorityOptions['floor']
  /** `of flags`: only MCP servers of flags. Default: those of flags, user and project. */
  readonly mcpServers?: 'of flags'
  readonly skills?: 'none'
  /** Servers that the program names that started this one. They come after those of flags. */
  readonly addedServers?: readonly McpServerConfig[]
  /** Puts another context around the one that flags and settings ask for. */
  readonly wrapExecution?: (execution: ExecutionContext) => ExecutionContext
  /** No tool will run, so neither a sandbox nor MCP servers are needed. */
  readonly isIdle?: boolean
}

/** The result of flags and settings, for one agent or for the agents of a workflow. */
export interface Assembly {
  readonly io: Io
  readonly view: ServersView
  readonly workspace: Workspace
  readonly config: Config
  readonly preset: PresetName
  readonly execution: ExecutionContext
  readonly authority: AuthorityOptions
  readonly thinking: ThinkingLevel | undefined
  readonly skills: SkillsConfig | undefined
  readonly servers: OpenedServers | undefined
  /** Of every agent: what the environment and the settings add to it. */
  readonly extensions: readonly Extension[]
  readonly sandbox: SandboxStatus
  /** Messages for a person at the start. */
  readonly notices: readonly string[]
  /** To be called when no run follows. */
  close(): Promise<void>
}

/** Combines flags and settings, in the same way for every command that runs an agent. Starts nothing. */
export async function assemble(flags: AgentFlags, options: AssemblyOptions): Promise<Assembly> {
  const { io, cwd, view } = options
  const named = withAdded(await parseMcpFlags(flags.mcp, io), options.addedServers)
  const workspace = await openWorkspace(cwd, options)
  try {
    const { config } = workspace.loaded
    const preset = presetName(flags, config)
    const only = options.mcpServers === 'of flags' ? { only: 'flags' as const } : {}
    const { wrapExecution = (own) => own } = options
    const execution = wrapExecution(
      await createExecution(options.isIdle ? { context: 'process', sandbox: 'off' } : flags, config, options),
    )
    const authority = authorityOf(flags, { ...options, workspace, preset })
    const unmatched = ruleNotices(flags, workspace, io)
    const sandbox = options.isIdle ? {} : await sandboxStatus(execution, authority, flags.sandbox ?? config.sandbox)
    return {
      io,
      view,
      workspace,
      config: config.withoutTools ? { ...config, withoutTools: excludedTools(config) } : config,
      preset,
      execution,
      authority,
      thinking: flags.thinking ?? config.thinking,
      skills: options.skills === 'none' ? undefined : skillsOption(workspace, io, flags.skill),
      servers: options.isIdle ? undefined : await openServersIfAny(named, { workspace, io, view, ...only }),
      extensions: options.isIdle
        ? []
        : [...(await telemetryExtensions(io)), ...(await hookExtensions(workspace, { io, authority, view }))],
      close: options.isIdle ? async () => {} : offerEvents(io),
      sandbox,
      notices: options.isIdle ? [] : [...unmatched, ...(sandbox.notice === undefined ? [] : [sandbox.notice])],
    }
  } catch (error) {
    workspace.project.dispose()
    throw error
  }
}

function withAdded(flags: readonly ServerEntry[] | undefined, added: readonly McpServerConfig[] = []) {
  if (added.length === 0) return flags
  const entries = added.map(({ name, ...config }): ServerEntry => {
    return { name, from: 'flag', where: 'the editor', entry: config, config: { name, ...config } }
  })
  return [...(flags ?? []), ...entries]
}

/** Notices about rules that can never match. Throws if a flag has one. */
function ruleNotices({ allow, deny }: AgentFlags, { cwd, loaded }: Workspace, { home }: Io): string[] {
  const { global, project } = loaded.layers
  return checkRuleNames({
    flags: { ...(allow && { allow }), ...(deny && { deny }) },
    settings: [global, project],
    hasToolFiles: [join(home, 'tools'), join(cwd, '.libero', 'tools')].some((folder) => existsSync(folder)),
  })
}

function authorityOf(
  { mode, allow, deny, yolo }: AgentFlags,
  options: AssemblyOptions & { readonly workspace: Workspace; readonly preset: PresetName },
): AuthorityOptions {
  const { io, person, floor, defaultMode = 'ask', preset } = options
  const { cwd, project, loaded } = options.workspace
  // The plan profile sets the mode; the others leave it to the settings.
  const launch = yolo ? 'yolo' : (mode ?? (preset === 'plan' ? 'plan' : undefined))
  return {
    layers: { bundled: { mode: defaultMode }, ...loaded.layers },
    home: io.home,
    workspace: { root: cwd, isTrusted: project.isTrusted },
    ...(launch && { mode: launch }),
    ...(allow && { allow }),
    ...(deny && { deny }),
    ...(yolo && { headless: 'yolo' as const }),
    ...(floor && { floor }),
    ...(person && { interactors: [person] }),
    ...(options.asksAtOnce && { batchPrompts: true }),
    ...(loaded.config.audit !== false && { audit: openAudit({ ...options, keep: auditKept(loaded.config) }) }),
  }
}

function auditKept({ retention = {} }: Config): { readonly days?: number; readonly bytes?: number } {
  const { auditDays, auditSize } = retention
  return {
    ...(auditDays !== undefined && { days: auditDays }),
    ...(auditSize !== undefined && { bytes: readSize(auditSize, 'the setting retention.auditSize') }),
  }
}

/** The execution context for tools. Throws if the requested container or sandbox is not available. */
async function createExecution(
  flags: Pick<RunValues, 'context' | 'sandbox' | 'image'>,
  config: Config,
  { cwd, io }: Pick<AssemblyOptions, 'cwd' | 'io'>,
): Promise<ExecutionContext> {
  const sandboxPaths = sandboxPathsOf(config, io)
  const context = flags.context ?? config.context ?? 'process'
  if (context === 'docker') {
    const image = flags.image?.[0] ?? config.image
    if (image === undefined)
      throw new UsageError(
        'the context "docker" needs an image: add --image node:24, or run: libero config set image node:24',
      )
    return (await import('../../execution/docker.ts')).createDockerContext({ image, cwd })
  }
  return createProcessContext({ cwd, sandbox: flags.sandbox ?? config.sandbox ?? 'auto', sandboxPaths })
}

/** Lets other processes of the user follow what runs stream. Not waited for: a run does not depend on it. */
function offerEvents({ home }: Io): () => Promise<void> {
  const offering = import('../../rpc/offer-local-events.ts').then(({ offerLocalEvents }) =>
    offerLocalEvents({ folder: join(home, 'run') }),
  )
  return async () => (await offering)()
}

/**
 * The tools that settings exclude, in both spellings: the same tool is `web_fetch` in a run and `web-fetch` in a
 * persistent agent.
 */
export const excludedTools = ({ withoutTools = [] }: Pick<Config, 'withoutTools'>): readonly string[] => [
  ...new Set(withoutTools.flatMap((name) => [name, name.replaceAll('_', '-'), name.replaceAll('-', '_')])),
]

/** A notice that a thinking level has no effect: it is unknown how to request thinking from a configured provider. */
export function thinkingNotices({ name, isConfigured }: ChosenModel, thinking: ThinkingLevel | undefined): string[] {
  if (!isConfigured || thinking === undefined || thinking === 'off') return []
  return [
    `--thinking ${thinking} has no effect with ${fullyVisible(name)}: how to request thinking from it is unknown.`,
  ]
}

/**
 * The skills option of `createAgent`; undefined, so that the code for skills is not loaded, if there is no folder of
 * skills and none is named. Skills of a project are used as long as they are unchanged since they were trusted.
 */
function skillsOption(
  { cwd, project, loaded: { config } }: Workspace,
  { home: liberoHome, userHome: home }: Pick<Io, 'home' | 'userHome'>,
  wanted: readonly string[] = [],
): SkillsConfig | undefined {
  const claude = config.claudeSkills === true
  const names = ['.agents', '.libero', ...(claude ? ['.claude'] : [])]
  const folders = [cwd, home].flatMap((place) => names.map((name) => join(place, name, 'skills')))
  if (wanted.length === 0 && ![...folders, join(liberoHome, 'skills')].some((folder) => existsSync(folder)))
    return undefined
  return { cwd, home, liberoHome, claude, trustProjectSkills: project.isUnchanged }
}
