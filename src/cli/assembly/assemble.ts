import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { AuthorityOptions } from '../../authority/authority.ts'
import type { Interactor } from '../../authority/interaction/interactor-queue.ts'
import type { ExecutionContext } from '../../core/execution.ts'
import type { ThinkingLevel } from '../../core/thinking.ts'
import { createProcessContext } from '../../execution/process.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import type { SkillsConfig } from '../../skills/skill.ts'
import { openAudit } from '../audit/open-audit.ts'
import { UsageError } from '../cli-error.ts'
import type { RunValues } from '../commands/run.ts'
import type { Config } from '../config/config.ts'
import type { Io } from '../io.ts'
import type { OpenedServers } from '../mcp/open-servers.ts'
import { openServersIfAny, parseMcpFlags, type ServersView } from '../mcp/servers-here.ts'
import type { ChosenModel } from '../models/choose-model.ts'
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
  const named = await parseMcpFlags(flags.mcp, io)
  const workspace = await openWorkspace(cwd, options)
  try {
    const { config } = workspace.loaded
    const preset = presetName(flags, config)
    const only = options.mcpServers === 'of flags' ? { only: 'flags' as const } : {}
    return {
      io,
      view,
      workspace,
      config: config.withoutTools ? { ...config, withoutTools: excludedTools(config) } : config,
      preset,
      execution: await createExecution(options.isIdle ? { context: 'process', sandbox: false } : flags, config, cwd),
      authority: authorityOf(flags, { ...options, workspace, preset }),
      thinking: flags.thinking ?? config.thinking,
      skills: options.skills === 'none' ? undefined : skillsOption(workspace, io, flags.skill),
      servers: options.isIdle ? undefined : await openServersIfAny(named, { workspace, io, view, ...only }),
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

/** Where tools run. A container or a sandbox that flags or settings ask for is there, or this throws. */
export async function createExecution(
  flags: Pick<RunValues, 'context' | 'sandbox' | 'image'>,
  config: Config,
  cwd: string,
): Promise<ExecutionContext> {
  const context = flags.context ?? config.context ?? 'process'
  if (context === 'docker') {
    const image = flags.image?.[0] ?? config.image
    if (image === undefined)
      throw new UsageError(
        'the context "docker" needs an image: add --image node:24, or run: libero config set image node:24',
      )
    return (await import('../../execution/docker.ts')).createDockerContext({ image, cwd })
  }
  if (flags.sandbox ?? config.sandbox) {
    // A missing program is reported now, before a model is asked and a tool fails.
    await (await import('../../execution/bubblewrap/check.ts')).findBubblewrap(undefined, [cwd])
    return (await import('../../execution/bubblewrap.ts')).createBubblewrapContext({ cwd })
  }
  return createProcessContext({ cwd })
}

/**
 * The tools that settings leave out, in both spellings: the tool that fetches pages is `web_fetch` in a run and
 * `web-fetch` in an agent that stays, and a person who leaves out one means both.
 */
export const excludedTools = ({ withoutTools = [] }: Pick<Config, 'withoutTools'>): readonly string[] => [
  ...new Set(withoutTools.flatMap((name) => [name, name.replaceAll('_', '-'), name.replaceAll('-', '_')])),
]

/** A notice where a wish to think has no effect: how services of the settings are asked to think is not known. */
export function thinkingNotices({ name, isConfigured }: ChosenModel, thinking: ThinkingLevel | undefined): string[] {
  if (!isConfigured || thinking === undefined || thinking === 'off') return []
  return [`--thinking ${thinking} has no effect with ${fullyVisible(name)}: how it is asked to think is not known.`]
}

/**
 * What `createAgent` is told about skills. Nothing where there is no folder of them and none is wanted by name: to look for them takes
 * code. Those of a project count as long as they are what was accepted.
 */
export function skillsOption(
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
