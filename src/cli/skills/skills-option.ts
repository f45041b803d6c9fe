import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { SkillsConfig } from '../../skills/skill.ts'
import type { Workspace } from '../assembly/workspace.ts'
import type { Io } from '../io.ts'

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
