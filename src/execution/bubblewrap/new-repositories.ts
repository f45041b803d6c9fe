import { basename, dirname, join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { shellQuote } from '../../core/execution.ts'
import { visibleName } from '../../platform/visible-text.ts'
import { realPathOf } from '../files/confined-path.ts'
import { gitPlaceAt } from './git-folder.ts'
import { type ProgramSource, programSources, submodulesOf } from './git-programs.ts'
import { isInside, protectedInGit, watchedInGit } from './protected-paths.ts'
import { asideOf } from './restore.ts'

/** A repository that a command made or changed while nothing protected it, and in which git would run programs. */
export interface NewRepository {
  readonly path: string
  readonly sources: readonly ProgramSource[]
  /** The repository whose index lists it: `git status` there runs git here. */
  readonly listedBy: string | undefined
}

/** What was protected while a command ran, because it belongs to these `.git` paths and bare repositories. */
export function keptInGit(repositories: readonly string[]): ReadonlySet<string> {
  return new Set(
    repositories.flatMap((path) => {
      const { own, common } = gitPlaceAt(realPathOf(path))
      return [
        ...protectedInGit.map((name) => join(common, name)),
        ...[own, common].flatMap((folder) => watchedInGit.map((name) => join(folder, name))),
      ]
    }),
  )
}

/** Those in which git would run programs by what could be written while `kept` was protected. */
export async function newRepositories(
  repositories: readonly string[],
  { roots, kept, links }: { roots: readonly string[]; kept: ReadonlySet<string>; links: ReadonlyMap<string, string> },
): Promise<NewRepository[]> {
  const judged = new Set<string>()
  /** Each file counts once, for the first path that leads to it. */
  const isNew = (path: string): boolean => {
    if (judged.has(path) || !roots.some((root) => isInside(root, path)) || isKept(path, kept)) return false
    judged.add(path)
    return true
  }
  const found: NewRepository[] = []
  const add = (path: string, sources: readonly ProgramSource[]): void => {
    if (sources.length > 0) found.push({ path, sources, listedBy: links.get(path) })
  }
  for (const [n, path] of repositories.entries()) {
    if (n % perTurn === perTurn - 1) await nextTurn()
    add(path, programSources(path, { mayBeChanged: isNew }))
  }
  for (const path of repositories) {
    const submodules = submodulesOf(path, isNew)
    add(path, submodules.tooMany)
    const outerTree = basename(path) === '.git' ? realPathOf(dirname(path)) : undefined
    for (const one of submodules.found) add(one, programSources(one, { mayBeChanged: isNew, outerTree }))
  }
  return found
}

/** How many are looked at before other work gets its turn. */
const perTurn = 32

function isKept(path: string, kept: ReadonlySet<string>): boolean {
  for (let at = path; at !== dirname(at); at = dirname(at)) if (kept.has(at)) return true
  return false
}

/** How to take the programs out of a new repository. What it had is kept beside, because a person may have made it. */
export interface Disarming {
  readonly repository: NewRepository
  /** Must be run in the sandbox, where links cannot lead outside. */
  readonly script: string
  /** Where things are then. */
  readonly aside: readonly string[]
}

/** How to do it for all of them. For the first ones alone the other settings of a config are kept in place. */
export function disarmings(repositories: readonly NewRepository[]): Disarming[] {
  return repositories.map((one, n) => disarming(one, n < mostRests ? longestRest : 0))
}

function disarming(repository: NewRepository, mostRest: number): Disarming {
  const moves = repository.sources.map(({ path, rest }) => ({ path, rest, to: asideOf(path) }))
  const script = moves.map(({ path, rest, to }) => {
    const [from, target] = [path, to].map(shellQuote)
    const write =
      rest === undefined
        ? ''
        : ` && printf %s ${shellQuote(rest === '' || rest.length > mostRest ? plainConfig : rest)} > ${from}`
    return `chmod u+wx -- ${shellQuote(dirname(path))}; mv -- ${from} ${target}${write}`
  })
  return { repository, script: script.join('\n'), aside: moves.map(({ to }) => to) }
}

/** Without a config git would take a placeholder for one, and fail. */
const plainConfig = '[core]\n\trepositoryformatversion = 0\n'
/** A longer script is no argument of a program, and each costs the start of a sandbox. */
const longestRest = 40_000
const mostRests = 20

/** What to say of it, in one line whatever its names. */
export function noteOn(one: Disarming, how: { readonly isDone: boolean }): string {
  return visibleName(wordsOn(one, how))
}

function wordsOn({ repository, aside }: Disarming, how: { readonly isDone: boolean }): string {
  const { path, sources, listedBy } = repository
  const names = sources.flatMap((source) => source.names)
  const further = names.length > mostNamed ? `, and ${names.length - mostNamed} more` : ''
  const where = listedBy === undefined ? 'there' : `there or in ${dirname(listedBy)} (its index lists it)`
  const found = `${path} is new, and git would run programs there (${names.slice(0, mostNamed).join(', ')}${further})`
  if (!how.isDone) return `${found}, which could not be changed: look at it before git is used ${where}`
  const configs = aside.filter((to) => basename(to).startsWith('config'))
  const moved = aside
    .filter((to) => !configs.includes(to))
    .map((to) => `its ${basename(to).split('.', 1)} are now in ${to}`)
  const kept = [
    ...(configs.length > 0 ? [`these settings were taken out, and all of them are in ${configs.join(', ')}`] : []),
    ...moved,
  ]
  return `${found}: ${kept.join('; ')}. Look at them before you put them back: git used ${where} runs them then`
}

const mostNamed = 5
