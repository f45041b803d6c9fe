import { readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { basename, dirname, join, resolve } from 'node:path'

/** What the config of a repository makes git obey besides itself. */
export interface GitObeys {
  /** Folders of hooks, there or not. */
  readonly hooks: readonly string[]
  /** Further files of config, there or not. */
  readonly included: readonly string[]
}

const mostFiles = 50

/** Reads the config of a git folder, that of the user, and what these include under whatever condition. */
export function gitObeys(git: string, home = homedir()): GitObeys {
  const work = basename(git) === '.git' ? dirname(git) : git
  const own = [git, ...namedBy(git)].flatMap((folder) => [join(folder, 'config'), join(folder, 'config.worktree')])
  const files = new Set([...own, join(home, '.gitconfig'), join(home, '.config/git/config'), '/etc/gitconfig'])
  const given = files.size
  const hooks = new Set<string>()
  // A set can grow while it is walked.
  for (const file of files) {
    for (const { key, value } of gitSettings(textOf(file))) {
      if (value === '') continue
      const path = value.replace(/^~(?=\/)/, home)
      if (key === 'core.hookspath') hooks.add(resolve(work, path))
      if (/^include(if)?\.(.*\.)?path$/s.test(key) && files.size < mostFiles) files.add(resolve(dirname(file), path))
    }
  }
  return { hooks: [...hooks], included: [...files].slice(given) }
}

/** A `.git` that is a file names the real folder, and that one may name another one for what all checkouts share. */
function namedBy(file: string): string[] {
  const [, path] = /^gitdir: ([^\n]+)/.exec(textOf(file)) ?? []
  if (path === undefined) return []
  const folder = resolve(dirname(file), path)
  const shared = textOf(join(folder, 'commondir')).trim()
  return shared === '' ? [folder] : [folder, resolve(folder, shared)]
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

/** What a file of config says. What makes no sense is passed over: git may be of another opinion about it. */
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
  while (at < text.length) {
    const before = at
    take(blank)
    const head = take(sectionStart)
    const name = head ? undefined : take(nameStart)
    if (head) section = `${head[1]?.toLowerCase()}${head[2] === undefined ? '' : `.${head[2]}`}`
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

/** Quotes may begin and end anywhere; a comment ends the value; a backslash at the end of a line goes on with the next. */
function valueAt(text: string, from: number): { value: string; end: number } {
  let value = ''
  /** Blanks at the end do not count, unless they are quoted. */
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

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8').slice(0, mostText)
  } catch {
    return ''
  }
}
