import { join } from 'node:path'
import type { RuleLayer } from '../../authority/rules/rules.ts'
import { type AuthoritySettings, type RuleEntry, securityModes } from '../../authority/rules/settings.ts'
import { CodedError } from '../../core/errors.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import { UsageError } from '../cli-error.ts'
import { ConfigError } from './check-config.ts'
import type { Config } from './config.ts'
import type { ConfigFile } from './tighten.ts'

/** The rules of one layer, and the files they come from. */
interface LayerRules {
  readonly settings: AuthoritySettings
  readonly places: Readonly<Record<RuleKey, readonly string[]>>
}

/** The keys of a config that are rules. */
type RuleKey = (typeof ruleKeys)[number]

/** The rules of one layer, from its `config.json` (which are checked here) and its `authority.json`. */
export async function joinRules(
  layer: RuleLayer,
  file: ConfigFile | undefined,
  authority: AuthoritySettings | undefined,
  folder: string,
): Promise<LayerRules | undefined> {
  const authorityPath = join(folder, 'authority.json')
  const own = file && ruleFields(file)
  if (own) await checkRules(own, layer, file.path)
  if (!own && !authority) return undefined
  if (own?.mode !== undefined && authority?.mode !== undefined && own.mode !== authority.mode)
    throw new UsageError(
      `${fullyVisible(file!.path)} sets the mode "${own.mode}" and ${fullyVisible(authorityPath)} sets "${authority.mode}"; remove one of them`,
    )
  const places = (key: RuleKey): string[] => [
    ...(own?.[key] === undefined ? [] : [file!.path]),
    ...(authority?.[key] === undefined ? [] : [authorityPath]),
  ]
  return {
    settings: {
      ...authority,
      ...own,
      ...joined('allow', authority, own),
      ...joined('ask', authority, own),
      ...joined('deny', authority, own),
    },
    places: { mode: places('mode'), allow: places('allow'), ask: places('ask'), deny: places('deny') },
  }
}

const ruleKeys = ['mode', 'allow', 'ask', 'deny'] as const
type Rules = Pick<AuthoritySettings, RuleKey>

function ruleFields({ config: { mode, allow, ask, deny } }: ConfigFile): Rules | undefined {
  if ((mode ?? allow ?? ask ?? deny) === undefined) return undefined
  return { ...(mode && { mode }), ...(allow && { allow }), ...(ask && { ask }), ...(deny && { deny }) }
}

/** As for `authority.json`: compiles the rules and tests them against their own examples. */
async function checkRules(rules: Rules, layer: RuleLayer, path: string): Promise<void> {
  const { resolveSettings } = await import('../../authority/rules/settings.ts')
  try {
    resolveSettings({ [layer]: { ...rules, mode: 'allowlist' } })
    const lists = [rules.allow, rules.ask, rules.deny].flatMap((list) => list ?? [])
    if (lists.every((rule) => typeof rule === 'string')) return
    const { describeFailure, testPolicy } = await import('../../authority/rules/load-settings.ts')
    const failures = await testPolicy(rules, layer)
    if (failures.length > 0) throw new UsageError(failures.map(describeFailure).join('; '))
  } catch (error) {
    throw refusedRules(error, `${path}: `)
  }
}

/** Turns an error about rules into a `ConfigError`, without its code and our name of the settings layer. */
export function refusedRules(error: unknown, before = ''): unknown {
  if (!(error instanceof CodedError || error instanceof UsageError)) return error
  const said = error instanceof CodedError ? error.sentence : error.message
  return new ConfigError(fullyVisible(before + (before === '' ? said : said.replace(layerName, ''))), { cause: error })
}

const layerName = /^the (?:global|project) settings' /

function joined(
  list: Exclude<RuleKey, 'mode'>,
  a: Rules | undefined,
  b: Rules | undefined,
): Partial<Record<typeof list, RuleEntry[]>> {
  const all = [...(a?.[list] ?? []), ...(b?.[list] ?? [])]
  return all.length > 0 ? { [list]: all } : {}
}

interface BothLayers {
  readonly global: LayerRules | undefined
  readonly project: LayerRules | undefined
}

interface EffectiveRules {
  readonly rules: Pick<Config, RuleKey>
  readonly origins: Partial<Record<RuleKey, string>>
}

/** The rules that result from both layers, and their files, for display. The authority itself decides by the layers. */
export function effectiveRules({ global, project }: BothLayers): EffectiveRules {
  const { mode: own = 'ask' } = global?.settings ?? {}
  const { mode: theirs = 'yolo' } = project?.settings ?? {}
  const isTighter = securityModes.indexOf(theirs) < securityModes.indexOf(own)
  const mode = isTighter ? theirs : global?.settings.mode
  const lists: { [Key in Exclude<RuleKey, 'mode'>]?: readonly RuleEntry[] } = {}
  const origins: Partial<Record<RuleKey, string>> = {}
  if (mode) origins.mode = ((isTighter ? project : global)?.places.mode ?? []).join(' and ')
  for (const key of ['allow', 'ask', 'deny'] as const) {
    const layers = key === 'allow' ? [global] : [global, project]
    const list = layers.flatMap((layer) => layer?.settings[key] ?? [])
    if (list.length === 0) continue
    lists[key] = list
    origins[key] = layers.flatMap((layer) => layer?.places[key] ?? []).join(' and ')
  }
  return { rules: { ...(mode && { mode }), ...lists }, origins }
}
