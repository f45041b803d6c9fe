/** The origin of a skill. The project's wins over the user's; the host program's wins over both. */
export type SkillSource = 'project' | 'user' | 'inline' | 'builtin'

/** A skill: its front matter and location. */
export interface Skill {
  /** `[a-z0-9-]{1,64}` by the standard; other harmless names are accepted with a warning. */
  readonly name: string
  readonly description: string
  readonly source: SkillSource
  /** The folder, absolute, links resolved. Absent for inline skills. */
  readonly folder?: string
  readonly path?: string
  /** For a project's skill: the path given to `trustProjectSkills`, which is the skill's folder or a parent. */
  readonly entry?: string
  /** Only of inline skills; other instructions are read on activation. */
  readonly instructions?: string
  readonly license?: string
  readonly compatibility?: string
  readonly metadata?: Readonly<Record<string, string>>
  /** As written, such as `Bash(git:*)` or `read_file`. Absent: the skill does not restrict tools. */
  readonly allowedTools?: readonly string[]
  /** Globs. The skill is offered only if one matches a file of the working directory. */
  readonly paths?: readonly string[]
  readonly model?: string
  readonly thinking?: string
  /** Only a person can activate it; the model does not see it. */
  readonly isHidden?: boolean
}

/** The input of `defineSkill`. */
export interface SkillDefinition {
  readonly name: string
  readonly description: string
  readonly instructions: string
  readonly allowedTools?: readonly string[]
  readonly compatibility?: string
  readonly model?: string
  readonly thinking?: string
  readonly paths?: readonly string[]
}

/** A problem with a skill; `isSkipped` if the skill was not loaded because of it. */
export interface SkillProblem {
  readonly path: string
  readonly problem: string
  readonly isSkipped: boolean
  readonly field?: string
}

/** The `skills` option of `createAgent`. `{}` searches the usual folders. */
export interface SkillsConfig {
  /** Additional folders, searched before the usual ones; relative to `cwd`. */
  readonly scan?: readonly string[]
  /** Skills without a folder. */
  readonly write?: readonly SkillDefinition[]
  readonly exclude?: readonly string[]
  /** false: none at all; a list: only these names. */
  readonly enabled?: boolean | readonly string[]
  readonly maxActive?: number
  /** Whether skills of the project may be used. Called before a folder is opened, and again before its commands run. Default true. */
  readonly trustProjectSkills?: boolean | ((folder: string) => boolean | Promise<boolean>)
  /** Also search `.claude/skills`. Default false. */
  readonly claude?: boolean
  /** Default: the working directory of this process. */
  readonly cwd?: string
  /** Default: the home folder. */
  readonly home?: string
  /** The user's Libero folder, which contains `skills`. Default: `.libero` in `home`; if `home` is not given, `$LIBERO_HOME` first. */
  readonly liberoHome?: string
}

/** Returns the skill unchanged, with its type checked. */
export function defineSkill<const S extends SkillDefinition>(skill: S): S {
  return skill
}
