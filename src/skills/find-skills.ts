import type { Dirent } from 'node:fs'
import { readdir, realpath, stat } from 'node:fs/promises'
import { basename, join, relative, sep } from 'node:path'
import { CodedError, codeOf, messageOf } from '../core/errors.ts'
import { compareTexts } from '../core/text.ts'
import { isWithin } from '../platform/source-files.ts'
import { fullyVisible } from '../platform/visible-text.ts'
import { parseSkill } from './parse-skill.ts'
import type { Skill, SkillProblem } from './skill.ts'
import { readHead } from './skill-files.ts'

/** A folder to search for skills, and its owner. A missing folder has none. */
export interface SkillRoot {
  readonly path: string
  /** In a project nothing is opened before `mayOpen` allows it, and links out of the root are not followed. */
  readonly source: 'project' | 'user'
}

/** The skills found, and the problems. */
export interface FoundSkills {
  readonly skills: readonly Skill[]
  readonly problems: readonly SkillProblem[]
}

/** Whether an entry directly in a project's root may be opened. */
export type MayOpen = (entry: string) => boolean | Promise<boolean>

/** Options of the search. */
export interface FindOptions {
  readonly mayOpen?: MayOpen
  readonly mostFolders?: number
}

/**
 * Searches folders for skills, at most four levels deep, in the order of roots, depth and names. A folder with a
 * SKILL.md is a skill and is not searched further.
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
/** Concurrent reads. More do not make a disk faster. */
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
    for (const contents of level) {
      problems.push(...contents.problems)
      if (contents.skill) skills.push(contents.skill)
    }
    const below = level.flatMap((contents) => contents.below).filter(({ path }) => !seen.has(path) && seen.add(path))
    if (below.length === 0 || depth === mostDepth) break
    const room = mostFolders - seen.size + below.length
    if (room < below.length) problems.push(skipped(root.path, `more than ${mostFolders} folders: the rest is left out`))
    level = await eachBounded(below.slice(0, Math.max(0, room)), width, (folder) =>
      readSkillFolder(folder, { source: root.source, isRoot: false }),
    )
  }
  return { skills, problems }
}

/** Checks each entry of a project's root, one after the other: a person may be asked. */
async function permitted(
  root: SkillRoot,
  contents: FolderContents & { real: string },
  mayOpen: MayOpen,
): Promise<FolderContents[]> {
  if (root.source === 'user') return [contents]
  const below: SkillFolder[] = []
  const refused: string[] = []
  for (const folder of contents.below) {
    if (await isPermitted(entriesBehind(folder, contents.real), root, mayOpen))
      below.push({ ...folder, entry: join(root.path, folder.name) })
    else refused.push(folder.name)
  }
  if (refused.length === 0) return [{ ...contents, below }]
  const names = fullyVisible(refused.slice(0, 5).join(', ')) + (refused.length > 5 ? ', …' : '')
  const problem = skipped(root.path, `${names}: left out and not opened, for the project is not trusted with it`)
  return [{ ...contents, below, problems: [...contents.problems, problem] }]
}

/** The names to check: of the entry, and of the entry it links into. */
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

/** A folder of the search: its real path and its name. */
interface SkillFolder {
  readonly path: string
  readonly name: string
  /** The entry of a project's root that it is or lies in. */
  readonly entry?: string
}

interface FolderContents {
  readonly skill?: Skill
  readonly problems: readonly SkillProblem[]
  readonly below: readonly SkillFolder[]
}

/** Reads one folder: it is a skill, or has folders to search. */
async function readSkillFolder(
  folder: SkillFolder,
  { source, isRoot }: { source: SkillRoot['source']; isRoot: boolean },
): Promise<FolderContents> {
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
  source: SkillRoot['source'],
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

/** A bound on links, which are resolved before a person is asked. */
const mostLinks = 500

/**
 * Resolves a link. The user's own links may lead anywhere. Those of a project must stay inside their folder: otherwise
 * they could expose any file of the user, or entries that were not allowed.
 */
async function linked(path: string, source: SkillRoot['source'], within: string): Promise<string> {
  const target = await realpath(path).catch(() => {
    throw new CodedError('Validation/SkillUnreadable', 'it is a link to nowhere')
  })
  if (source === 'user' || (target !== within && isWithin(within, target))) return target
  throw new CodedError('Validation/SkillUnreadable', 'it is a link that leads out of its folder, and is not followed')
}

function skipped(path: string, problem: string): SkillProblem {
  return { path, problem, isSkipped: true }
}

/** Maps a list with limited concurrency, in order. */
async function eachBounded<T, R>(all: readonly T[], width: number, work: (one: T) => Promise<R>): Promise<R[]> {
  const results = new Array<R>(all.length)
  let next = 0
  const worker = async (): Promise<void> => {
    while (next < all.length) {
      const i = next++
      results[i] = await work(all[i]!)
    }
  }
  await Promise.all(Array.from({ length: Math.min(width, all.length) }, worker))
  return results
}
