import { lstatSync, mkdirSync, realpathSync, type Stats, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { messageOf } from '../../core/errors.ts'
import { hasPlaceholderMark, isEmptyFolder } from '../files/placeholder-folders.ts'
import type { HiddenPath, Mount, SandboxLayout } from './args.ts'
import { gitFolders, tooMuch } from './git.ts'
import { hiddenPaths } from './hidden-paths.ts'
import { createLinkedRepositories } from './linked-repositories.ts'
import { keptInGit, type NewRepository, newRepositories } from './new-repositories.ts'
import type { Placeholders } from './placeholders.ts'
import { privateFoldersRoot } from './private-folder.ts'
import { gitFoldersOf, isInside, type Protection, protectionOf, watchedIn } from './protected-paths.ts'
import { createRepairs, type Repair, type Unmounted } from './repairs.ts'
import { watchUnwanted } from './unwanted-files.ts'

export interface SandboxPolicyOptions {
  /** Real paths, like all paths here. */
  readonly roots: readonly string[]
  /** The roots as given: a protected path that is one of them may be written. */
  readonly named: readonly string[]
  readonly readOnly: readonly string[]
  readonly hidden: readonly string[] | undefined
  /** The temporary folders. */
  readonly temporaryAt: readonly string[]
  readonly placeholders: Placeholders
}

/** What there is beside the roots for one command, instead of the whole file system. */
export interface ClosedView {
  readonly base: readonly Mount[]
  /** Further hidden paths. */
  readonly hidden: readonly HiddenPath[]
  /** Further git folders in the roots, however deep. */
  readonly repositories: readonly string[]
  /** Whether a path can be seen, unless it is covered. */
  shows(path: string): boolean
}

type Files = Pick<SandboxLayout, 'base' | 'roots' | 'readOnly' | 'hidden' | 'temporaryAt' | 'protection'>

/** Which files one handle may see and write. */
interface SandboxPolicy {
  /** The present policy. `bare`: for an internal script that restores protected files. */
  files(how: {
    readonly writes: boolean
    readonly bare?: boolean
    readonly view?: ClosedView | undefined
    /** What `begin` found, if it was called. */
    readonly known?: KnownRepositories | undefined
  }): Promise<Files>
  /** Must be called before each command. */
  begin(view?: ClosedView): Promise<KnownRepositories>
  /** Must be called after each command: how to undo changes of protected files; `undefined` if there are none. */
  repair(): Repair | undefined
  /** After a command, the repositories that it made or changed and in which git would run programs: those are protected from now on. */
  newRepositories(known: KnownRepositories): Promise<FoundRepositories>
  /** Whether a path in a root is protected from being written. */
  isProtected(path: string): boolean
}

/** What was known of repositories when a command began, and so was protected while it ran. */
export interface KnownRepositories {
  readonly repositories: readonly string[]
  readonly kept: ReadonlySet<string>
  /** Those whose index could not be read whole. */
  readonly unread: ReadonlySet<string>
  /** Whether they were searched at every depth. */
  readonly isDeep: boolean
}

interface FoundRepositories {
  readonly made: readonly NewRepository[]
  /** What to say of repositories that could not be looked at. */
  readonly notes: readonly string[]
}

export function sandboxPolicy(options: SandboxPolicyOptions): SandboxPolicy {
  const { roots, named, readOnly, hidden, temporaryAt, placeholders } = options
  const isRoot = process.getuid?.() === 0
  const rootCheck = createRootCheck(roots)
  const repositories = roots.map(gitFolders)
  /** A link may change later; what was hidden once stays hidden. */
  const everHidden = new Set<string>()
  const isOurs = (path: string): boolean => placeholders.has(path) || hasPlaceholderMark(path)
  const repairs = createRepairs((paths) => watchUnwanted({ roots: roots.filter(isFolder), paths, isKept: isOurs }))
  /** The repositories found before the last command. */
  let git: readonly string[] = []
  const linked = createLinkedRepositories()
  const nested = async (deepest?: number): Promise<string[]> =>
    (await Promise.all(repositories.map((one) => one.find(deepest)))).flat()
  /** With those that others list, which may lie deeper, or in folders that are not searched. */
  const withLinked = (found: readonly string[]) => {
    const { found: links, unread } = linked.find([...new Set([...found, ...roots.flatMap(gitFoldersOf)])])
    return { all: [...new Set([...found, ...links.keys()])], links, unread }
  }
  /** At every depth where that is possible and what was there before is known at every depth too. */
  const searchGit = async (view: ClosedView | undefined) => {
    const deep = view && (await nested(Number.POSITIVE_INFINITY).catch(() => undefined))
    const found = deep ?? (await nested())
    return { ...withLinked([...new Set([...found, ...(view?.repositories ?? [])])]), isDeep: deep !== undefined }
  }
  const isPlaceholder = (path: string): boolean =>
    !roots.includes(path) && (placeholders.has(path) || isEmptyFolder(path))

  function protection(git: readonly string[], missing: readonly string[], present: readonly string[]): Protection {
    // That of one root may name a folder in another one.
    const others = present.length > 1 ? present.flatMap(gitFoldersOf) : []
    const terms = { free: [...roots, ...named], nested: [...git, ...others], placeholders }
    const each = present.filter(isFolder).map((root) => protectionOf(root, terms))
    return {
      existing: each.flatMap(({ existing }) => existing),
      pinned: each.flatMap(({ pinned }) => pinned),
      missing: [...new Set([...each.flatMap((one) => one.missing), ...missing])],
      watched: each.flatMap(({ watched }) => watched),
      links: each.flatMap((one) => one.links),
      misplacedLinks: each.flatMap(({ misplacedLinks }) => misplacedLinks),
    }
  }

  /** Must not fail: otherwise a command could cause a failure to prevent all repairs. */
  function unmounted(): Unmounted {
    const each = roots.filter(isFolder).map((root) => {
      const free = [...roots, ...named]
      const unwanted = watchedIn(root, git).filter((path) => !free.includes(path) && !isOurs(path))
      try {
        const { links, misplacedLinks } = protectionOf(root, { free, nested: git, placeholders })
        return { unwanted, links, misplacedLinks }
      } catch {
        return { unwanted, links: [], misplacedLinks: [] }
      }
    })
    return {
      unwanted: each.flatMap(({ unwanted }) => unwanted),
      links: each.flatMap(({ links }) => links),
      misplacedLinks: each.flatMap(({ misplacedLinks }) => misplacedLinks),
    }
  }

  function hiddenNow(view?: ClosedView): { there: HiddenPath[]; missing: string[] } {
    const { there, missing } = hiddenPaths({ hidden, home: homedir(), isRoot, roots, isPlaceholder })
    there.push(...(view?.hidden ?? []))
    const places = privateFoldersRoot()
    if (!temporaryAt.some((folder) => isInside(folder, places))) there.push({ path: places, isFolder: true })
    // A cover where nothing is seen would only shut out what is shown below it.
    const isSeen = (path: string): boolean => roots.some((root) => isInside(root, path)) || (view?.shows(path) ?? true)
    const before = [...everHidden].filter(
      (path) => !there.some((one) => one.path === path) && isSeen(path) && !isPlaceholder(path),
    )
    for (const one of there) everHidden.add(one.path)
    const still = before.flatMap((path) => {
      const found = look(path)
      return found ? [{ path, isFolder: found.isDirectory() }] : []
    })
    return { there: [...there, ...still], missing }
  }

  hiddenNow() // before any command can change a link

  return {
    async files({ writes, bare = false, view, known }) {
      if (writes && !bare && !known) git = (await searchGit(view)).all
      const { there, missing } = hiddenNow(view)
      const present = rootCheck.present()
      const how = bare ? nothingProtected : writes && bounded(protection(git, missing, present))
      const files = { roots: present, readOnly, hidden: there, temporaryAt, ...(how && { protection: how }) }
      return view ? { ...files, base: view.base } : files
    },

    async begin(view) {
      const { all, unread, isDeep } = await searchGit(view)
      git = all
      repairs.begin(unmounted())
      const repositories = [...all, ...roots.flatMap(gitFoldersOf)]
      return { repositories, kept: keptInGit(repositories), unread: new Set(unread), isDeep }
    },

    repair: () => repairs.end(unmounted()),

    async newRepositories(known) {
      const notes: string[] = []
      // The next command checks those that must be protected.
      const inside = await nested(known.isDeep ? Number.POSITIVE_INFINITY : undefined).catch((error) => {
        notes.push(
          `new repositories were not searched: ${messageOf(error)}. Until then, use git only in those you know`,
        )
        return []
      })
      const { all, links, unread } = withLinked([...known.repositories, ...inside])
      for (const path of unread)
        if (!known.unread.has(path)) notes.push(`the index of ${path} cannot be read whole: ${otherRepositories}`)
      // First those that others list, as that is to be told.
      const present = [...new Set([...links.keys(), ...all, ...roots.flatMap(gitFoldersOf)])]
      return { made: await newRepositories(present, { roots, kept: known.kept, links }), notes }
    },

    isProtected(path) {
      const { existing, missing, watched, links } = protection(git, [], rootCheck.present())
      return [...existing, ...missing, ...watched, ...links].some((one) => isInside(one, path))
    },
  }
}

const otherRepositories =
  'look for new repositories in it before git is used there, as git status also looks into those'
/** Each is a mount and a watch, and bubblewrap takes 9,000 arguments. */
const mostProtected = 1000

function bounded(protection: Protection): Protection {
  const { length, 0: first } = protection.existing
  if (length > mostProtected) throw tooMuch(`${length} files are to be protected, such as ${first}`, mostProtected)
  return protection
}

const nothingProtected = { existing: [], pinned: [], missing: [], watched: [], links: [], misplacedLinks: [] }

function isFolder(path: string): boolean {
  return look(path)?.isDirectory() ?? false
}

function look(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false })
  } catch {
    return undefined // a parent is not a folder, or not accessible
  }
}

/** Checks that the roots of a handle are still the same folders. */
interface RootCheck {
  /**
   * The existing roots. Bubblewrap follows links for each command: throws if a root is not the same folder any more, because a
   * command may have replaced it by a link.
   */
  present(): string[]
}

/**
 * Creates missing roots, except those inside another root: these may become files, are writable as part of the other root,
 * and are never mounted themselves.
 */
function createRootCheck(roots: readonly string[]): RootCheck {
  const isInner = (root: string): boolean => roots.some((other) => other !== root && isInside(other, root))
  for (const root of roots) if (!statOf(root) && !isInner(root)) mkdirSync(root, { recursive: true })
  const known = new Map(roots.map((root) => [root, statOf(root)]))

  return {
    present: () =>
      [...known].flatMap(([root, before]) => {
        const now = statOf(root)
        if (!before || !now) return []
        if (realpathSync.native(root) !== root || !isSame(before, now)) throw replaced(root)
        return [root]
      }),
  }
}

/** A file may be replaced: without a link in its path it is still the allowed path. */
function isSame(before: Stats, now: Stats): boolean {
  if (before.isFile()) return now.isFile()
  return now.isDirectory() && before.dev === now.dev && before.ino === now.ino
}

function statOf(path: string): Stats | undefined {
  return lstatSync(path, { throwIfNoEntry: false })
}

function replaced(root: string): Error {
  return new Error(
    `The root ${root} is no longer the folder that it was when this handle was created: it was moved, or something else was put in its place. Nothing was run. Check what is there now; if it is right, spawn another handle`,
  )
}
