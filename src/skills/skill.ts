/** Where a skill comes from. A project's beats the user's; what the host program wrote beats both. */
export type SkillSource = 'project' | 'user' | 'inline' | 'builtin'

/** A skill as the catalogue knows it: its front matter, and where the rest lies. */
export interface Skill {
  /** `[a-z0-9-]{1,64}` by the standard; others are loaded with a warning where they are harmless. */
  readonly name: string
  readonly description: string
  readonly source: SkillSource
  /** The folder, absolute, links resolved. Absent for inline skills. */
  readonly folder?: string
  /** The file with the instructions. */
  readonly path?: string
  /** Of a project's skill: what `trustProjectSkills` was asked about, which is the skill's folder or one above it. */
  readonly entry?: string
  /** Only of inline skills; others are read when they are activated. */
  readonly instructions?: string
  readonly license?: string
  readonly compatibility?: string
  readonly metadata?: Readonly<Record<string, string>>
  /** As written, such as `Bash(git:*)` or `read_file`. Absent: the skill says nothing about tools. */
  readonly allowedTools?: readonly string[]
  /** Globs; the skill is offered only where one of them matches a file of the working directory. */
  readonly paths?: readonly string[]
  readonly model?: string
  readonly thinking?: string
  /** Only people activate it; the model is not told. */
  readonly isHidden?: boolean
}

/** What `defineSkill` takes. */
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

/** Something that was not as it should be; `isSkipped` where the skill was not loaded for it. */
export interface SkillProblem {
  /** The folder or file. */
  readonly path: string
  readonly problem: string
  readonly isSkipped: boolean
  /** The field of the front matter, where it is about one. */
  readonly field?: string
}

/** The `skills` option of `createAgent`. `{}` means: look in the usual folders. */
export interface SkillsConfig {
  /** Further folders of skills, looked at before the usual ones; relative to `cwd`. */
  readonly scan?: readonly string[]
  /** Skills without a folder. */
  readonly write?: readonly SkillDefinition[]
  /** Names that are left out. */
  readonly exclude?: readonly string[]
  /** false: none at all; a list: only these names. */
  readonly enabled?: boolean | readonly string[]
  /** How many may be active at once. Default: no limit. */
  readonly maxActive?: number
  /** Whether those of the project count. Asked before a folder is opened, and again before its commands run. Default true. */
  readonly trustProjectSkills?: boolean | ((folder: string) => boolean | Promise<boolean>)
  /** Also look in `.claude/skills`. Default false. */
  readonly claude?: boolean
  /** Default: the working directory of this process. */
  readonly cwd?: string
  /** Default: the home folder. */
  readonly home?: string
  /** The user's own folder of Libero, with `skills` in it. Default: `.libero` in `home`; without `home`, `$LIBERO_HOME` counts first. */
  readonly liberoHome?: string
}

/** Checks a skill that a program writes, and lets TypeScript see it. */
export function defineSkill<const S extends SkillDefinition>(skill: S): S {
  return skill
}
