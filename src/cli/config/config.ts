import { lstat, realpath } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { AuthoritySettings, SettingsLayers, ToolRule } from '../../authority/rules/settings.ts'
import type { ClaudeSearch } from '../../authority/trust/project-names.ts'
import { codeOf } from '../../core/errors.ts'
import type { ThinkingLevel } from '../../core/thinking.ts'
import type { RetryOptions } from '../../providers/retry.ts'
import type { StatusPart } from '../../tui/dock/status-line.ts'
import type { KeyBindings } from '../../tui/input/key-bindings.ts'
import type { ThemeName } from '../../tui/terminal/theme.ts'
import { effectiveRules, joinRules, refusedRules } from './config-rules.ts'
import { readConfig } from './read-config.ts'
import { type ConfigFile, tighten } from './tighten.ts'

/** `config.json` of the user or of a project. Rules may be here or in `authority.json` in the same folder. */
export interface Config extends Pick<AuthoritySettings, 'mode' | 'allow' | 'ask' | 'deny'> {
  readonly provider?: string
  readonly model?: string
  readonly profile?: 'build' | 'plan'
  readonly preset?: 'basic' | 'coding'
  readonly system?: string
  readonly thinking?: Exclude<ThinkingLevel, 'adaptive'>
  readonly context?: 'process' | 'docker'
  /** The container’s image, with `context: docker`. */
  readonly image?: string
  /** Default `auto`. */
  readonly sandbox?: 'auto' | 'required' | 'off'
  /** What commands reach in every sandbox. Default: nothing more. */
  readonly sandboxPaths?: ConfiguredSandboxPaths
  readonly maxTurns?: number
  /** Dollars. */
  readonly maxCost?: number
  readonly withoutTools?: readonly string[]
  readonly claudeSkills?: boolean
  /** Also sub-agents in `.claude/agents` and commands in `.claude/commands`. Default false. */
  readonly claudeFiles?: boolean
  /** Programs that are run at moments of a run, as in the settings of Claude Code. */
  readonly hooks?: ConfiguredHooks
  /** Whether tool calls are recorded, see `libero audit`. Default true. */
  readonly audit?: boolean
  /** Where sessions are stored. Default: `sessions.db` in the user's folder. */
  readonly sessions?: string
  /** What is deleted after a while. Default: no session, and records of the audit after 90 days. */
  readonly retention?: ConfiguredRetention
  /** Snapshots of files, for `libero undo`. Default: taken. */
  readonly snapshots?: ConfiguredSnapshots
  /** Services with OpenAI’s chat API, by the name for `--provider`. */
  readonly providers?: Readonly<Record<string, ConfiguredProvider>>
  /** MCP servers by name, as in the `.mcp.json` of other programs. `readMcpEntry` checks an entry when it is used. */
  readonly mcpServers?: Readonly<Record<string, unknown>>
  /** `lazy`: the model gets the schemas of MCP tools only when it asks. */
  readonly toolDisclosure?: 'eager' | 'lazy'
  /** Of the interactive terminal. */
  readonly terminal?: ConfiguredTerminal
  /** TiddlyWiki wikis for the agents of `libero agents`, by name. */
  readonly wikis?: Readonly<Record<string, ConfiguredWiki>>
  /** For all agents of `libero agents`. */
  readonly agents?: ConfiguredAgents
}

export interface ConfiguredProvider {
  readonly baseURL: string
  readonly model: string
  /** The environment variable with its key. */
  readonly apiKeyEnv?: string
  /** Of its models, in tokens. */
  readonly contextWindow?: number
  readonly price?: ConfiguredPrice
}

/** Dollars per million tokens. */
export interface ConfiguredPrice {
  readonly input: number
  readonly output: number
  /** Default: as input. */
  readonly cacheRead?: number
  readonly cacheWrite?: number
}

/** Hooks by their moment: before and after a tool call, at a prompt, at the end of a run. */
export type ConfiguredHooks = {
  readonly [Moment in 'PreToolUse' | 'PostToolUse' | 'UserPromptSubmit' | 'Stop']?: readonly ConfiguredHookGroup[]
}

export interface ConfiguredHookGroup {
  /** Tool names, such as `shell|edit`, in which a star stands for any characters. Default: every tool. */
  readonly matcher?: string
  readonly hooks: readonly ConfiguredHook[]
}

export interface ConfiguredHook {
  readonly type: 'command'
  /** A line for the shell. */
  readonly command: string
  /** Seconds. Default 60. */
  readonly timeout?: number
  /** What a hook that fails means. Default `block` before something happens, `continue` after it. */
  readonly onFailure?: 'block' | 'continue'
  /** False: with all rights of the user. Not for hooks of a project. Default true. */
  readonly sandbox?: boolean
}

export interface ConfiguredTerminal {
  /** Thinking whole, not as one line. Default false. */
  readonly showThinking?: boolean
  /** The colours. Default: those of the terminal. */
  readonly theme?: ThemeName
  /** Notifications while the terminal has no focus. Default true. */
  readonly notify?: boolean
  /** Keys of the input line: a key, and what it does. */
  readonly keys?: KeyBindings
  /** The parts of the status line, in their order. */
  readonly statusLine?: readonly StatusPart[]
}

export interface ConfiguredSandboxPaths {
  readonly read?: readonly string[]
  readonly caches?: readonly string[]
}

export interface ConfiguredSnapshots {
  readonly enabled?: boolean
  readonly exclude?: readonly string[]
  /** Such as `10MB`. */
  readonly maxFileSize?: string
  readonly maxFiles?: number
  readonly maxSnapshots?: number
  /** Such as `1GB`. */
  readonly maxSize?: string
}

export interface ConfiguredRetention {
  readonly maxAgeDays?: number
  readonly maxSessions?: number
  /** Such as `2GB`. */
  readonly maxSize?: string
  readonly keepTags?: readonly string[]
  readonly auditDays?: number
  /** Such as `256MB`. */
  readonly auditSize?: string
}

export interface ConfiguredAgents {
  /** By the name of the tool. */
  readonly approval?: Readonly<Record<string, ToolRule>>
  readonly retry?: ConfiguredRetry
}

/** How failed requests to a model are sent again. */
export type ConfiguredRetry = Omit<RetryOptions, 'onRetry' | 'clock' | 'random'>

export interface ConfiguredWiki {
  /** The folder that contains `tiddlywiki.info`. */
  readonly folder: string
  readonly readOnly?: boolean
  readonly description?: string
}

export interface LoadedConfig {
  /** The user's, tightened by the project's. */
  readonly config: Config
  /** Which file each field comes from. */
  readonly origins: Readonly<Partial<Record<keyof Config, string>>>
  /** The hooks of each layer. */
  readonly hooks: { readonly user?: ConfiguredHooks; readonly project?: ConfiguredHooks }
  /** The rules of each layer, from `config.json` and `authority.json`. */
  readonly layers: Pick<SettingsLayers, 'global' | 'project'>
  /** Messages for a person: settings of the project that were left out because they would loosen the user's. */
  readonly warnings: readonly string[]
}

interface ConfigSources {
  /** The user's own folder. */
  readonly home: string
  /** Absolute. Nothing in it is read unless `mayRead` says so, file by file. */
  readonly projectRoot?: string
  readonly mayRead?: (path: string) => boolean
  /** The user's own file, if the caller has read it already. */
  readonly own?: ConfigFile | undefined
}

/** Reads the settings of the user and of a trusted project. One mistake rejects the whole file, with a message for a person. */
export async function loadConfig(sources: ConfigSources): Promise<LoadedConfig> {
  const { home, projectRoot, mayRead = () => false } = sources
  const root = projectRoot === undefined ? undefined : await realOf(projectRoot)
  const folder = await projectFolder(root, home)
  const isAllowed = (name: string): boolean => folder !== undefined && mayRead(join(folder, name))
  const user = 'own' in sources ? sources.own : await userConfig(home)
  const project = folder && isAllowed('config.json') ? await fileIn(folder, 'refused') : undefined
  const settings = await rulesIn(home, isAllowed('authority.json') ? root : undefined)
  const rules = {
    global: await joinRules('global', user, settings.global, home),
    project: folder ? await joinRules('project', project, settings.project, folder) : undefined,
  }
  const { config, origins, warnings } = tighten(user, project)
  const effective = effectiveRules(rules)
  return {
    config: { ...config, ...effective.rules },
    origins: { ...origins, ...effective.origins },
    hooks: {
      ...(user?.config.hooks && { user: user.config.hooks }),
      ...(project?.config.hooks && { project: project.config.hooks }),
    },
    layers: {
      ...(rules.global && { global: rules.global.settings }),
      ...(rules.project && { project: rules.project.settings }),
    },
    warnings,
  }
}

/** The rules in both `authority.json` files. The code that reads rules is loaded only if such a file exists. */
async function rulesIn(home: string, projectRoot: string | undefined): Promise<LoadedConfig['layers']> {
  const folders = [home, ...(projectRoot === undefined ? [] : [join(projectRoot, '.libero')])]
  const found = await Promise.all(folders.map((folder) => lstat(join(folder, 'authority.json')).catch(codeOf)))
  if (found.every((info) => info === 'ENOENT' || info === 'ENOTDIR')) return {}
  const { loadSettings } = await import('../../authority/rules/load-settings.ts')
  try {
    return await loadSettings({ home, ...(projectRoot !== undefined && { projectRoot, isTrusted: true }) })
  } catch (error) {
    throw refusedRules(error)
  }
}

/** In the user's home folder, `.libero` is the user's own folder and not a project's. */
async function projectFolder(root: string | undefined, home: string): Promise<string | undefined> {
  if (root === undefined) return undefined
  const folder = join(root, '.libero')
  return (await realOf(folder)) === (await realOf(home)) ? undefined : folder
}

/** Trust applies to real paths. */
const realOf = (path: string): Promise<string> => realpath(path).catch(() => resolve(path))

/** The user's own `config.json`, if it exists. */
export const userConfig = (home: string): Promise<ConfigFile | undefined> => fileIn(home, 'followed')

async function fileIn(folder: string, links: 'followed' | 'refused'): Promise<ConfigFile | undefined> {
  const path = join(folder, 'config.json')
  const config = await readConfig(path, { links })
  return config && { path, config }
}

/** Which folders of Claude Code the user wants. */
export const claudeSearch = ({ claudeSkills = false, claudeFiles = false }: Config = {}): ClaudeSearch => ({
  claudeSkills,
  claudeFiles,
})
