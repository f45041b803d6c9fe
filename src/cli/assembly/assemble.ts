import type { AuthorityOptions } from '../../authority/authority.ts'
import type { Interactor } from '../../authority/interaction/interactor-queue.ts'
import type { ExecutionContext } from '../../core/execution.ts'
import type { ThinkingLevel } from '../../core/thinking.ts'
import type { SkillsConfig } from '../../skills/skill.ts'
import { openAudit } from '../audit/open-audit.ts'
import type { RunValues } from '../commands/run.ts'
import type { Config } from '../config/config.ts'
import type { Io } from '../io.ts'
import type { OpenedServers } from '../mcp/open-servers.ts'
import { checkedFlags, serversHere } from '../mcp/servers-here.ts'
import type { ServersView } from '../mcp/servers-view.ts'
import { skillsOption } from '../skills/skills-option.ts'
import { executionOf } from './execution-of.ts'
import { leftOut } from './left-out.ts'
import { type PresetName, presetName } from './preset-of.ts'
import { openWorkspace, type Workspace } from './workspace.ts'

/** The flags that say what an agent is made of. Each command has some of them; the settings say the rest. */
export type AgentFlags = Pick<
  RunValues,
  | ('profile' | 'preset' | 'thinking')
  | ('context' | 'sandbox' | 'image')
  | ('mode' | 'allow' | 'deny' | 'yolo')
  | ('mcp' | 'skill')
>

export interface AssemblyOptions {
  /** The command that runs the agent, for the audit. */
  readonly command: string
  readonly io: Io
  /** Absolute. */
  readonly cwd: string
  /** The person who can be asked. Without one, a run halts where it would ask. */
  readonly person?: Interactor
  /** Hears what MCP servers do to a run, and what fails beside it. */
  readonly view: ServersView
  /** `left out`: neither the folder's settings and instructions nor its tools, skills and servers are used. */
  readonly project?: 'left out'
  /** The mode where neither flags nor settings name one. Default `ask`. */
  readonly defaultMode?: AuthorityOptions['mode']
  /** What happens to calls that need a person in every mode. Default `ask`. */
  readonly floor?: AuthorityOptions['floor']
  /** Which MCP servers are used. Default: those of flags, user and project. */
  readonly mcpServers?: 'of flags'
  readonly skills?: 'none'
  /** No tool will run: neither a sandbox nor MCP servers are needed. */
  readonly isIdle?: boolean
}

/** What flags and settings come to, for one agent and for the agents of a workflow. */
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
}

/** Reads flags and settings, once and in the same way for every command that runs an agent. Nothing is started. */
export async function assemble(flags: AgentFlags, options: AssemblyOptions): Promise<Assembly> {
  const { io, cwd, view } = options
  const named = await checkedFlags(flags.mcp, io)
  const workspace = await openWorkspace(cwd, options)
  try {
    const { config } = workspace.loaded
    const preset = presetName(flags, config)
    const only = options.mcpServers === 'of flags' ? { only: 'flags' as const } : {}
    return {
      io,
      view,
      workspace,
      config: config.withoutTools ? { ...config, withoutTools: leftOut(config) } : config,
      preset,
      execution: await executionOf(options.isIdle ? { context: 'process', sandbox: false } : flags, config, cwd),
      authority: authorityOf(flags, { ...options, workspace, preset }),
      thinking: flags.thinking ?? config.thinking,
      skills: options.skills === 'none' ? undefined : skillsOption(workspace, io, flags.skill),
      servers: options.isIdle ? undefined : await serversHere(named, { workspace, io, view, ...only }),
    }
  } catch (error) {
    workspace.project.dispose()
    throw error
  }
}

function authorityOf(
  { mode, allow, deny, yolo }: AgentFlags,
  options: AssemblyOptions & { readonly workspace: Workspace; readonly preset: PresetName },
): AuthorityOptions {
  const { io, person, floor, defaultMode = 'ask', preset } = options
  const { cwd, project, loaded } = options.workspace
  // The plan profile decides; the others leave the mode to the settings.
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
    ...(loaded.config.audit !== false && { audit: openAudit(options) }),
  }
}
