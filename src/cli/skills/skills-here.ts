import { fullyVisible } from '../../platform/visible-text.ts'
import { type ResolvedSkills, resolveSkills } from '../../skills/resolve-skills.ts'
import { openWorkspace } from '../assembly/workspace.ts'
import type { Io } from '../io.ts'
import { resolveCwd } from '../run/flag-files.ts'

/** Which skills are meant. */
export interface SkillsWish {
  readonly cwd?: string
  readonly claude?: boolean
}

/** The skills an agent would have here. Nobody is asked, and nothing of a project that is not trusted is opened. */
export async function skillsHere(
  { cwd: named, claude: wanted = false }: SkillsWish,
  io: Io,
): Promise<ResolvedSkills & { readonly notices: readonly string[] }> {
  const cwd = await resolveCwd(named, io)
  const { project, loaded } = await openWorkspace(cwd, { io })
  try {
    const notices = [...loaded.warnings]
    const claude = wanted || loaded.config.claudeSkills === true
    if (project.state === 'restricted' || project.state === 'declined')
      notices.push(
        `${fullyVisible(project.root)} is not trusted, so its own skills are left out; to look at them and decide: libero trust`,
      )
    const trustProjectSkills = project.isTrusted() && ((folder: string) => project.mayRead(folder))
    const found = await resolveSkills({ cwd, claude, home: io.userHome, liberoHome: io.home, trustProjectSkills })
    return { ...found, notices }
  } finally {
    project.dispose()
  }
}
