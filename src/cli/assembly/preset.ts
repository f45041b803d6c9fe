import type { ToolDef } from '../../core/tool.ts'
import type { Preset } from '../../presets/preset.ts'
import type { RunValues } from '../commands/run.ts'
import type { Config } from '../config/config.ts'

/** A profile or a preset, by its name in flags and settings. */
export type PresetName = 'basic' | 'coding' | 'build' | 'plan'

/** The preset of an agent: a flag overrides a setting, and the setting `profile` overrides `preset`. */
export function presetName({ preset, profile }: Pick<RunValues, 'preset' | 'profile'>, config: Config): PresetName {
  return preset ?? profile ?? config.profile ?? config.preset ?? 'build'
}

/** A preset whose tools are described by JSON Schema. */
type BuiltInPreset = Preset & { readonly tools?: Readonly<Record<string, ToolDef>> }

export async function loadPreset(name: PresetName): Promise<BuiltInPreset> {
  if (name === 'basic') return (await import('../../presets/basic.ts')).basic
  if (name === 'coding') return (await import('../../presets/coding.ts')).coding
  return (await import('../../presets/coding.ts'))[name]
}
