import type { ToolDef } from '../../core/tool.ts'
import type { Preset } from '../../presets/preset.ts'
import type { RunValues } from '../commands/run.ts'
import type { Config } from '../config/config.ts'

/** A profile or a preset, by the name that flags and settings have for it. */
export type PresetName = 'basic' | 'coding' | 'build' | 'plan'

/** Which tools and words an agent gets: a flag counts more than a setting, a setting's profile more than its preset. */
export function presetName({ preset, profile }: Pick<RunValues, 'preset' | 'profile'>, config: Config): PresetName {
  return preset ?? profile ?? config.profile ?? config.preset ?? 'build'
}

/** A preset of ours: its tools are described by JSON Schema. */
export type BuiltInPreset = Preset & { readonly tools?: Readonly<Record<string, ToolDef>> }

/** Loads a preset. */
export async function loadPreset(name: PresetName): Promise<BuiltInPreset> {
  if (name === 'basic') return (await import('../../presets/basic.ts')).basic
  if (name === 'coding') return (await import('../../presets/coding.ts')).coding
  return (await import('../../presets/profiles.ts'))[name]
}
