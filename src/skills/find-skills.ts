import { realpath } from 'node:fs/promises'
import { basename, join, relative, sep } from 'node:path'
import { fullyVisible } from '../platform/visible-text.ts'
import { eachBounded } from './each-bounded.ts'
import { type FolderContents, readSkillFolder, type SkillFolder, skipped } from './look-into.ts'
import type { Skill, SkillProblem } from './skill.ts'

/** A folder in which skills are looked for, and whose they are. One that is not there holds none. */
export interface SkillRoot {
  readonly path: string
  /** Of a project, nothing is opened before `mayOpen` says yes, and no link is followed that leads out of the root. */
  readonly source: 'project' | 'user'
}

/** What is found where, and what was not as it should be. */
export interface FoundSkills {
  readonly skills: readonly Skill[]
  readonly problems: readonly SkillProblem[]
}

/** Says whether what lies directly in a root of a project may be opened. */
export type MayOpen = (entry: string) => boolean | Promise<boolean>

/** How skills are looked for. */
export interface FindOptions {
  readonly mayOpen?: MayOpen
  /** As many folders as are looked into, of each root. */
  readonly mostFolders?: number
}

/**
 * Looks for skills in folders, at most four levels down, in the order of the roots, then of depth, then of names. A
 * folder with a SKILL.md is a skill and is not searched further.
 */
export async function findSkills(
  roots: readonly SkillRoot[],
  { mayOpen = () => true, mostFolders = 2000 }: FindOptions = {},
): Promise<FoundSkills> {
  const skills: Skill[] = []
  const problems: SkillProblem[] = []
  for (const root of roots) {
    const found = await searchRoot(root, { mayOpen, mostFolders })
    skills.push(...found.skills)
    problems.push(...found.problems)
  }
  return { skills, problems }
}

const mostDepth = 4
/** More at once do not make a disk faster. */
const width = 16

async function searchRoot(root: SkillRoot, { mayOpen, mostFolders }: Required<FindOptions>): Promise<FoundSkills> {
  const real = await realpath(root.path).catch(() => undefined)
  if (real === undefined) return { skills: [], problems: [] }
  const problems: SkillProblem[] = []
  const skills: Skill[] = []
  const seen = new Set<string>([real])
  const first = await readSkillFolder({ path: real, name: basename(real) }, { source: root.source, isRoot: true })
  let level = await permitted(root, { ...first, real }, mayOpen)
  for (let depth = 0; depth <= mostDepth; depth++) {
    for (const look of level) {
      problems.push(...look.problems)
      if (look.skill) skills.push(look.skill)
    }
    const below = level.flatMap((look) => look.below).filter(({ path }) => !seen.has(path) && seen.add(path))
    if (below.length === 0 || depth === mostDepth) break
    const room = mostFolders - seen.size + below.length
    if (room < below.length) problems.push(skipped(root.path, `more than ${mostFolders} folders: the rest is left out`))
    level = await eachBounded(below.slice(0, Math.max(0, room)), width, (folder) =>
      readSkillFolder(folder, { source: root.source, isRoot: false }),
    )
  }
  return { skills, problems }
}

/** Asks about each entry of a project's root, one after the other: a person may be asked. */
async function permitted(
  root: SkillRoot,
  look: FolderContents & { real: string },
  mayOpen: MayOpen,
): Promise<FolderContents[]> {
  if (root.source === 'user') return [look]
  const below: SkillFolder[] = []
  const refused: string[] = []
  for (const folder of look.below) {
    if (await isPermitted(entriesBehind(folder, look.real), root, mayOpen))
      below.push({ ...folder, entry: join(root.path, folder.name) })
    else refused.push(folder.name)
  }
  if (refused.length === 0) return [{ ...look, below }]
  const names = fullyVisible(refused.slice(0, 5).join(', ')) + (refused.length > 5 ? ', …' : '')
  const problem = skipped(root.path, `${names}: left out and not opened, for the project is not trusted with it`)
  return [{ ...look, below, problems: [...look.problems, problem] }]
}

/** An entry, and the one it is a link into. */
function entriesBehind({ path, name }: SkillFolder, real: string): ReadonlySet<string> {
  return new Set([name, relative(real, path).split(sep)[0]!])
}

async function isPermitted(names: ReadonlySet<string>, { path }: SkillRoot, mayOpen: MayOpen): Promise<boolean> {
  try {
    for (const name of names) if (!(await mayOpen(join(path, name)))) return false
    return true
  } catch {
    return false
  }
}
