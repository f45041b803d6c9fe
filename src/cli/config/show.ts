import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { resolveSettings } from '../../authority/rules/settings.ts'
import { isRecord } from '../../core/is-record.ts'
import { fullyVisible, visibleText } from '../../platform/visible-text.ts'
import { openWorkspace } from '../assembly/workspace.ts'
import { exitCodes } from '../cli-error.ts'
import type { Io } from '../io.ts'
import { sessionsPath } from '../sessions/open-store.ts'
import { jsonText } from '../text.ts'
import type { Config, LoadedConfig } from './config.ts'
import { refusedRules } from './config-rules.ts'
import { configKeys, namedSetting, withoutSecrets } from './settings.ts'
import { defaultTurns } from './tighten.ts'

/** Every setting that applies in this folder, with the file it comes from, without secrets. */
export async function listSettings(io: Pick<Io, 'cwd' | 'home' | 'userHome'>) {
  const { config, origins, warnings } = await effectiveConfig(io)
  const usual = defaults(io)
  const settings = configKeys.map((key) => {
    const value = withoutSecrets(key, config[key] ?? usual[key])
    const from = config[key] === undefined ? (value === undefined ? 'not set' : 'default') : (origins[key] ?? 'default')
    return { key, value, from }
  })
  return { settings, warnings }
}

/** `libero config show`. */
export async function showConfig({ json = false }: { readonly json?: boolean }, io: Io): Promise<number> {
  const { settings, warnings } = await listSettings(io)
  if (json) {
    const entries = settings.map(({ key, value = null, from }) => [key, { value, from }])
    io.out(jsonText({ settings: Object.fromEntries(entries), warnings }))
    return exitCodes.done
  }
  const width = Math.max(...configKeys.map((key) => key.length))
  for (const { key, value, from } of settings) {
    const shown = value === undefined ? '–' : fullyVisible(asText(value))
    io.out(`${key.padEnd(width)}  ${shown}${value === undefined ? '' : `  (${fullyVisible(from)})`}`)
  }
  for (const warning of warnings) io.err(warning)
  return exitCodes.done
}

/** `libero config get`: prints only the value. */
export async function printSetting(name: string | undefined, io: Io): Promise<number> {
  const { key, member } = namedSetting(name)
  const { config, warnings } = await effectiveConfig(io)
  for (const warning of warnings) io.err(warning)
  const whole = withoutSecrets(key, config[key] ?? defaults(io)[key])
  const value = member === undefined ? whole : memberOf(whole, member)
  if (value === undefined) {
    io.err(`${fullyVisible(name ?? '')} is not set; set it with: libero config set ${fullyVisible(name ?? '')} <value>`)
    return exitCodes.error
  }
  io.out(visibleText(asText(value)))
  return exitCodes.done
}

function memberOf(whole: unknown, member: string): unknown {
  return isRecord(whole) && Object.hasOwn(whole, member) ? whole[member] : undefined
}

/** `libero config path`. */
export async function printPath(io: Io): Promise<number> {
  io.out(join(io.home, 'config.json'))
  return exitCodes.done
}

/** The settings that apply in this folder. Does not ask whether to trust the project. */
async function effectiveConfig(io: Pick<Io, 'cwd' | 'home'>) {
  const { loaded, project } = await openWorkspace(io.cwd, { io })
  project.dispose()
  const { config, origins, layers } = loaded
  const unused = ['config.json', 'authority.json']
    .map((name) => join(project.root, '.libero', name))
    .filter((path) => existsSync(path) && !project.mayRead(path) && dirname(path) !== io.home)
    .map((path) => `${fullyVisible(path)} is not used: this project is not trusted; see: libero trust`)
  return { config, origins, warnings: [...unused, ...loaded.warnings, ...ruleWarnings(layers)] }
}

function ruleWarnings(layers: LoadedConfig['layers']): readonly string[] {
  try {
    return resolveSettings(layers).warnings
  } catch (error) {
    throw refusedRules(error)
  }
}

/** The defaults. */
function defaults(io: Pick<Io, 'home' | 'userHome'>): Config {
  return {
    profile: 'build',
    context: 'process',
    sandbox: 'auto',
    maxTurns: defaultTurns,
    sessions: sessionsPath({}, io),
    mode: 'ask',
  }
}

const asText = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))
