import { lstat, realpath } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { AuthoritySettings, SettingsLayers } from '../../authority/rules/settings.ts'
import { codeOf } from '../../core/errors.ts'
import type { ThinkingLevel } from '../../core/thinking.ts'
import { effectiveRules, joinRules, refusedRules } from './config-rules.ts'
import { readConfig } from './read-config.ts'
import { type ConfigFile, tighten } from './tighten.ts'

/** `config.json`, of the user or of a project. Rules may stand here or in `authority.json` beside it. */
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
  readonly sandbox?: boolean
  readonly maxTurns?: number
  /** Dollars. */
  readonly maxCost?: number
  /** Tools to leave out. */
  readonly withoutTools?: readonly string[]
  /** Also use the skills in `.claude/skills`. */
  readonly claudeSkills?: boolean
  /** Whether calls of tools are written down, see `libero audit`. Default true. */
  readonly audit?: boolean
  /** Where sessions are kept. Default: `sessions.db` in the user's folder. */
  readonly sessions?: string
  /** Services that speak OpenAI’s chat API, by the name that `--provider` takes. */
  readonly providers?: Readonly<Record<string, ConfiguredProvider>>
  /** MCP servers by name, as in the `.mcp.json` of other programs. What an entry is says `readMcpEntry`, when it is used. */
  readonly mcpServers?: Readonly<Record<string, unknown>>
  /** `lazy`: the model gets the schemas of MCP tools when it asks for them. */
  readonly toolDisclosure?: 'eager' | 'lazy'
  /** Wikis of TiddlyWiki that agents of `libero agents` work in, by name. */
  readonly wikis?: Readonly<Record<string, ConfiguredWiki>>
}

export interface ConfiguredProvider {
  readonly baseURL: string
  readonly model: string
  /** The variable of the environment that holds its key. */
  readonly apiKeyEnv?: string
}

export interface ConfiguredWiki {
  /** The one with `tiddlywiki.info` in it. */
  readonly folder: string
  readonly readOnly?: boolean
  readonly description?: string
}

export interface LoadedConfig {
  /** The user's, tightened by the project's. */
  readonly config: Config
  /** Which file each field comes from. */
  readonly origins: Readonly<Partial<Record<keyof Config, string>>>
  /** The rules of both files, each in its layer, joined with those of `authority.json`. */
  readonly layers: Pick<SettingsLayers, 'global' | 'project'>
  /** For a person: what of the project's was left out because it would loosen something. */
  readonly warnings: readonly string[]
}

interface ConfigSources {
  /** The user's own folder. */
  readonly home: string
  /** Absolute. Nothing in it is read unless `mayRead` says so, file by file. */
  readonly projectRoot?: string
  readonly mayRead?: (path: string) => boolean
  /** The user's own file, where somebody has read it already. */
  readonly own?: ConfigFile | undefined
}

/** Reads what the user and a trusted project have written down; one mistake refuses a file whole, with a sentence for a person. */
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
    layers: {
      ...(rules.global && { global: rules.global.settings }),
      ...(rules.project && { project: rules.project.settings }),
    },
    warnings,
  }
}

/** What `authority.json` of both says. Reading rules takes code that most people never need: it is loaded where there is such a file. */
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

/** In his own home a user's folder is no project's. */
async function projectFolder(root: string | undefined, home: string): Promise<string | undefined> {
  if (root === undefined) return undefined
  const folder = join(root, '.libero')
  return (await realOf(folder)) === (await realOf(home)) ? undefined : folder
}

/** What is trusted is trusted by its real path. */
const realOf = (path: string): Promise<string> => realpath(path).catch(() => resolve(path))

/** The user's own file, if there is one. */
export const userConfig = (home: string): Promise<ConfigFile | undefined> => fileIn(home, 'followed')

async function fileIn(folder: string, links: 'followed' | 'refused'): Promise<ConfigFile | undefined> {
  const path = join(folder, 'config.json')
  const config = await readConfig(path, { links })
  return config && { path, config }
}
