import type { Dirent } from 'node:fs'
import { readdir, realpath, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { CodedError, codeOf, messageOf } from '../core/errors.ts'
import { compareTexts } from '../platform/compare-texts.ts'
import { isWithin } from '../platform/source-files.ts'
import { parseSkill } from './parse-skill.ts'
import type { Skill, SkillProblem } from './skill.ts'
import { readHead } from './skill-file.ts'

/** A folder on the way: where it really lies, and what it is called. */
export interface SkillFolder {
  readonly path: string
  readonly name: string
  /** The entry of a project's root that it is, or is in. */
  readonly entry?: string
}

/** What looking into one folder gives. */
export interface FolderContents {
  readonly skill?: Skill
  readonly problems: readonly SkillProblem[]
  readonly below: readonly SkillFolder[]
}

interface Where {
  readonly source: SkillRootSource
  readonly isRoot: boolean
}

type SkillRootSource = 'project' | 'user'

/** Looks into one folder: it is a skill, or there are folders to go on with. */
export async function readSkillFolder(folder: SkillFolder, { source, isRoot }: Where): Promise<FolderContents> {
  const problems: SkillProblem[] = []
  const entries = await readdir(folder.path, { withFileTypes: true }).catch((error) => {
    if (codeOf(error) !== 'ENOTDIR' || isRoot)
      problems.push(skipped(folder.path, `cannot be looked into (${codeOf(error)})`))
    return []
  })
  const file = fileAmong(entries, folder, problems)
  if (!file || (isRoot && source === 'project')) {
    if (file) problems.push(skipped(join(folder.path, file.name), 'it lies in no folder of its own; put it into one'))
    const below = await foldersAmong(entries, folder, source, problems)
    return { problems, below: below.map((one) => ({ ...one, ...ofEntry(folder) })) }
  }
  try {
    const path = file.isSymbolicLink()
      ? await linked(join(folder.path, file.name), source, folder.path)
      : join(folder.path, file.name)
    const { skill, problems: more } = await parseSkill(await readHead(path), folder.name, join(folder.path, file.name))
    problems.push(...more)
    if (!skill) return { problems, below: [] }
    return { problems, below: [], skill: { ...skill, source, folder: folder.path, path, ...ofEntry(folder) } }
  } catch (error) {
    problems.push(skipped(folder.path, error instanceof CodedError ? error.sentence : messageOf(error)))
    return { problems, below: [] }
  }
}

function ofEntry({ entry }: SkillFolder): { entry?: string } {
  return entry === undefined ? {} : { entry }
}

function fileAmong(entries: readonly Dirent[], { path }: SkillFolder, problems: SkillProblem[]): Dirent | undefined {
  const candidates = entries.filter(({ name }) => name.length === 8 && name.toLowerCase() === 'skill.md')
  const file = candidates.find(({ name }) => name === 'SKILL.md') ?? candidates.find(({ name }) => name === 'skill.md')
  const others = candidates.filter((entry) => entry !== file).map(({ name }) => name)
  if (file && others.length > 0)
    problems.push({
      path,
      problem: `it has ${file.name} and ${others.join(', ')}; only ${file.name} is read`,
      isSkipped: false,
    })
  if (!file && others.length > 0) problems.push(skipped(join(path, others[0]!), 'it has to be called SKILL.md'))
  return file
}

async function foldersAmong(
  entries: readonly Dirent[],
  { path }: SkillFolder,
  source: SkillRootSource,
  problems: SkillProblem[],
): Promise<SkillFolder[]> {
  const places: SkillFolder[] = []
  let links = 0
  for (const entry of entries.toSorted((a, b) => compareTexts(a.name, b.name))) {
    const { name } = entry
    if (name.startsWith('.') || name === 'node_modules') continue
    if (entry.isDirectory()) places.push({ path: join(path, name), name })
    if (!entry.isSymbolicLink()) continue
    if (++links > mostLinks) continue
    try {
      const target = await linked(join(path, name), source, path)
      if ((await stat(target)).isDirectory()) places.push({ path: target, name })
    } catch (error) {
      problems.push(skipped(join(path, name), error instanceof CodedError ? error.sentence : 'it is a link to nowhere'))
    }
  }
  if (links > mostLinks) problems.push(skipped(path, `it has more than ${mostLinks} links: the rest is not followed`))
  return places
}

/** Each takes its time, and nobody has been asked yet. */
const mostLinks = 500

/**
 * Where a link leads. The user's own may lead anywhere. One of a project could show the model any file of the user, and
 * below an entry also what nobody was asked about.
 */
async function linked(path: string, source: SkillRootSource, within: string): Promise<string> {
  const target = await realpath(path).catch(() => {
    throw new CodedError('Validation/SkillUnreadable', 'it is a link to nowhere')
  })
  if (source === 'user' || (target !== within && isWithin(within, target))) return target
  throw new CodedError('Validation/SkillUnreadable', 'it is a link that leads out of its folder, and is not followed')
}

/** Something that is left out, and why. */
export function skipped(path: string, problem: string): SkillProblem {
  return { path, problem, isSkipped: true }
}
