import { securityModes } from '../../authority/rules/check-settings.ts'
import type { RuleEntry } from '../../authority/rules/settings.ts'
import type { Config } from './config.ts'
import type { LayerRules, RuleKey } from './join-rules.ts'

interface BothLayers {
  readonly global: LayerRules | undefined
  readonly project: LayerRules | undefined
}

interface EffectiveRules {
  readonly rules: Pick<Config, RuleKey>
  readonly origins: Partial<Record<RuleKey, string>>
}

/** What the rules of both layers come to, and where they stand: what a project would loosen is not in it. For people; the authority judges by the layers. */
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
