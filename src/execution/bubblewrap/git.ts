import { type Dirent, type Stats, statSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { homedir } from 'node:os'
import { basename, dirname, join, resolve } from 'node:path'
import { textStart } from '../../platform/text-start.ts'
import { gitPlaceAt, isGitFolder } from './git-folder.ts'

/** Paths outside a git folder that its config refers to. */
interface GitReferences {
  /** Hook folders, existing or not. */
  readonly hooks: readonly string[]
  /** Included config files, existing or not. */
  readonly included: readonly string[]
}

const mostFiles = 50

/** Reads the config of a git folder and of the user, and all files that these include, also conditionally. */
export function gitReferences(git: string, home = homedir()): GitReferences {
  const work = basename(git) === '.git' ? dirname(git) : git
  const { own: named, common } = gitPlaceAt(git)
  const own = [...new Set([git, named, common])].flatMap((folder) => [
    join(folder, 'config'),
    join(folder, 'config.worktree'),
  ])
  const files = new Set([...own, join(home, '.gitconfig'), join(home, '.config/git/config'), '/etc/gitconfig'])
  const given = files.size
  const hooks = new Set<string>()
  // A set may grow during iteration.
  for (const file of files) {
    for (const { key, value } of gitSettings(textOf(file))) {
      if (value === '') continue
      const path = value.replace(/^~(?=\/)/, home)
      if (key === 'core.hookspath') hooks.add(resolve(work, path))
      if (key === 'core.attributesfile' && files.size < mostFiles) files.add(resolve(work, path))
      if (/^include(if)?\.(.*\.)?path$/s.test(key) && files.size < mostFiles) files.add(resolve(dirname(file), path))
    }
  }
  return { hooks: [...hooks], included: [...files].slice(given) }
}

export interface GitSetting {
  /** Section, subsection if any, and name; all but the subsection in lower case. */
  readonly key: string
  readonly value: string
}

const sectionStart = /\s*\[\s*([\w.-]+)\s*(?:"((?:\\.|[^"\\\n])*)")?\s*\]/y
const nameStart = /\s*([A-Za-z][\w-]*)[ \t]*(=?)[ \t]*/y
const restOfLine = /[^\n]*\n?/y
const blank = /\s*(?:[#;][^\n]*\n?)?/y

/** Each setting has the name of its section in its key, so many of them in a section with a long name would fill the memory. */
export const mostSettings = 20_000
const longestSection = 500

/** Parses a git config. Invalid lines are skipped, and so is what is beyond `mostSettings`. */
export function gitSettings(text: string): GitSetting[] {
  const settings: GitSetting[] = []
  let section = ''
  let at = 0
  const take = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at
    const match = pattern.exec(text)
    if (match) at = pattern.lastIndex
    return match
  }
  while (at < text.length && settings.length < mostSettings) {
    const before = at
    take(blank)
    const head = take(sectionStart)
    const name = head ? undefined : take(nameStart)
    if (head)
      section = `${head[1]?.toLowerCase()}${head[2] === undefined ? '' : `.${head[2]}`}`.slice(0, longestSection)
    if (name) {
      const { value, end } = name[2] ? valueAt(text, at) : { value: '', end: at }
      settings.push({ key: `${section}.${name[1]?.toLowerCase()}`, value })
      at = end
    }
    if (at === before) take(restOfLine)
  }
  return settings
}

const escaped: Readonly<Record<string, string>> = { n: '\n', t: '\t', b: '\b', '\n': '' }

/** Quotes may begin and end anywhere; a comment ends the value; a backslash at the end of a line continues it. */
function valueAt(text: string, from: number): { value: string; end: number } {
  let value = ''
  /** The length without trailing unquoted blanks. */
  let kept = 0
  let isQuoted = false
  let at = from
  for (; at < text.length && text[at] !== '\n'; at++) {
    const char = text[at] ?? ''
    if (char === '"') {
      isQuoted = !isQuoted
      kept = value.length
      continue
    }
    if (!isQuoted && (char === '#' || char === ';')) break
    if (char === '\\') {
      if (text[at + 1] === '\r' && text[at + 2] === '\n') at++
      const next = text[++at] ?? ''
      value += escaped[next] ?? next
    } else value += char
    if (isQuoted || char.trim() !== '') kept = value.length
  }
  const end = text.indexOf('\n', at)
  return { value: value.slice(0, kept), end: end < 0 ? text.length : end + 1 }
}

const mostText = 1024 * 1024

const textOf = (path: string): string => textStart(path, mostText)

const usualDepth = 3
const mostFolders = 20_000
/** File timestamps are coarse: a folder that changed just now may change again without a new timestamp. */
const unsureMs = 100

/** Finds `.git` folders, links and files and bare repositories inside a root. */
interface GitFolders {
  /** The present state, by default three levels deep; only changed folders are read again. Rejects with `ENOSANDBOX` if there are too many. */
  find(deepest?: number): Promise<string[]>
}

export function gitFolders(root: string): GitFolders {
  const known = new Map<string, FolderScan>()

  async function scan(folder: string): Promise<FolderScan | undefined> {
    const found = look(folder)
    if (!found) return undefined
    const before = known.get(folder)
    // Not mtime, which any process can set.
    if (before && before.changed === found.ctimeMs && before.ino === found.ino) return before
    const entries = await entriesOf(folder)
    const names = new Set(entries.map(({ name }) => name))
    const looked = {
      changed: Date.now() - found.ctimeMs > unsureMs ? found.ctimeMs : -1,
      ino: found.ino,
      // A command can give these names to every folder, so the rest counts too.
      git: [
        ...(isGitFolder((name) => names.has(name)) ? [folder] : []),
        ...(names.has('.git') ? [join(folder, '.git')] : []),
      ],
      folders: entries
        .filter((entry) => entry.isDirectory() && entry.name !== '.git' && entry.name !== 'node_modules')
        .map(({ name }) => join(folder, name)),
    }
    known.set(folder, looked)
    return looked
  }

  return {
    async find(deepest = usualDepth) {
      const found: string[] = []
      let level = [root]
      let looked = 0
      for (let depth = 0; depth <= deepest && level.length > 0; depth++) {
        const next: string[] = []
        for (const folder of level) {
          if (++looked > mostFolders)
            throw tooMuch(`${root} has too many folders to search for repositories`, mostFolders)
          const inside = await scan(folder)
          if (depth > 0) found.push(...(inside?.git ?? []))
          const below = inside?.folders ?? []
          // As for what is hidden, which finds the repositories that were there before.
          next.push(...(depth < usualDepth ? below : below.filter((one) => !one.includes('/site-packages'))))
        }
        level = next
      }
      return found
    },
  }
}

/** What cannot be protected whole is not protected: no command runs. */
export function tooMuch(what: string, most: number): Error & { code: 'ENOSANDBOX' } {
  const message = `${what}, and at most ${most} are possible. Nothing was run. Work in a part of it, or remove what is not needed (git worktree prune)`
  return Object.assign(new Error(message), { code: 'ENOSANDBOX' as const })
}

interface FolderScan {
  readonly changed: number
  readonly ino: number
  readonly git: readonly string[]
  readonly folders: readonly string[]
}

async function entriesOf(folder: string): Promise<Dirent[]> {
  try {
    return await readdir(folder, { withFileTypes: true })
  } catch {
    return [] // deleted, or not readable
  }
}

function look(folder: string): Stats | undefined {
  try {
    return statSync(folder, { throwIfNoEntry: false })
  } catch {
    return undefined
  }
}
