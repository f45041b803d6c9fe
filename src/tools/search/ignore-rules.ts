import { globSource } from './glob-pattern.ts'

/** The rules of one `.gitignore`: `true` ignores a path, `false` includes it, `undefined` leaves it to outer files. */
export interface IgnoreFile {
  verdict(name: string, path: string, isFolder: boolean): boolean | undefined
}

interface Rule {
  /** Later rules win over earlier ones. */
  readonly position: number
  readonly isIncluded: boolean
  readonly isForFolders: boolean
}

type PathRule = Rule & { readonly regex: RegExp }

/** Parses a `.gitignore` like ripgrep; `undefined` if it has no rules. Why not a package: decision 0041. */
export function parseIgnoreFile(text: string): IgnoreFile | undefined {
  const names = new Map<string, Rule[]>()
  const extensions = new Map<string, Rule[]>()
  const paths: PathRule[] = []
  const lines = text.replace(/^\ufeff/, '').split('\n')
  for (const [position, line] of lines.entries()) {
    const parsed = parseLine(line.replace(/\r$/, ''))
    if (!parsed) continue
    const rule = { position, isIncluded: parsed.isIncluded, isForFolders: parsed.isForFolders }
    // Most rules are a name or an extension, and a lookup is much faster than a regular expression for each.
    const [, name, extension] = simple.exec(parsed.glob) ?? []
    if (name !== undefined) addTo(names, name, rule)
    else if (extension !== undefined) addTo(extensions, extension, rule)
    else addPath(paths, parsed.glob, rule)
  }
  if (names.size + extensions.size + paths.length === 0) return undefined
  paths.reverse()

  return {
    verdict(name, path, isFolder) {
      let best = lastRule(names.get(name), isFolder, undefined)
      if (extensions.size > 0) {
        const dot = name.lastIndexOf('.')
        if (dot >= 0) best = lastRule(extensions.get(name.slice(dot)), isFolder, best)
      }
      if (paths.length > 0) best = lastPathRule(paths, path, isFolder, best)
      return best && !best.isIncluded
    },
  }
}

/** `**` + `/name` or `**` + `/*.extension`, without anything special. */
const simple = /^\*\*\/(?:([^*?[\\{},/]+)|\*(\.[^*?[\\{},/.]+))$/

function addTo(rules: Map<string, Rule[]>, key: string, rule: Rule): void {
  const others = rules.get(key)
  if (others) others.push(rule)
  else rules.set(key, [rule])
}

/** An invalid glob is skipped. */
function addPath(paths: PathRule[], glob: string, rule: Rule): void {
  try {
    paths.push({ ...rule, regex: new RegExp(`^${globSource(asBytes(glob), { isLenient: true })}$`) })
  } catch {}
}

function lastRule(rules: readonly Rule[] | undefined, isFolder: boolean, best: Rule | undefined): Rule | undefined {
  if (!rules) return best
  const last = rules.findLast(({ isForFolders }) => isFolder || !isForFolders)
  return last && (!best || last.position > best.position) ? last : best
}

/** `paths` are in reverse order. */
function lastPathRule(
  paths: readonly PathRule[],
  path: string,
  isFolder: boolean,
  best: Rule | undefined,
): Rule | undefined {
  const bytes = asBytes(path)
  for (const rule of paths) {
    if (best && best.position > rule.position) return best
    if ((isFolder || !rule.isForFolders) && rule.regex.test(bytes)) return rule
  }
  return best
}

interface IgnoreLine {
  readonly glob: string
  readonly isIncluded: boolean
  readonly isForFolders: boolean
}

function parseLine(line: string): IgnoreLine | undefined {
  if (line.startsWith('#')) return undefined
  let glob = line.endsWith('\\ ') ? line : line.trimEnd()
  if (glob === '') return undefined
  let isIncluded = false
  let isAnchored = false
  if (glob.startsWith('\\!') || glob.startsWith('\\#')) glob = glob.slice(1)
  else {
    isIncluded = glob.startsWith('!')
    if (isIncluded) glob = glob.slice(1)
    isAnchored = glob.startsWith('/')
    if (isAnchored) glob = glob.slice(1)
  }
  const isForFolders = glob.endsWith('/')
  if (isForFolders) glob = glob.replace(/\\?\/$/, '')
  if (!isAnchored && !glob.includes('/') && glob !== '**') glob = `**/${glob}`
  // The contents of a folder, but not the folder itself.
  if (glob.endsWith('/**')) glob = `${glob}/*`
  return { glob, isIncluded, isForFolders }
}

/** Ripgrep matches bytes: `?` is one byte, even if a character has several. */
function asBytes(text: string): string {
  return isAscii.test(text) ? text : Buffer.from(text).toString('latin1')
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: all of ASCII is meant
const isAscii = /^[\x00-\x7f]*$/

/** The rules for one folder, those of the nearest `.gitignore` first, each with the path from its folder to this one. */
export type IgnoreChain = readonly { readonly rules: IgnoreFile; readonly prefix: string }[]

export function isIgnored(chain: IgnoreChain, name: string, isFolder: boolean): boolean {
  for (const { rules, prefix } of chain) {
    const verdict = rules.verdict(name, prefix + name, isFolder)
    if (verdict !== undefined) return verdict
  }
  return false
}

/** The rules for a subfolder, without its own `.gitignore`. */
export function enterFolder(chain: IgnoreChain, name: string): IgnoreChain {
  return chain.length === 0 ? chain : chain.map(({ rules, prefix }) => ({ rules, prefix: `${prefix}${name}/` }))
}

/** Adds the rules of the folder itself, if it has any. */
export function withRules(chain: IgnoreChain, own: IgnoreFile | undefined): IgnoreChain {
  return own ? [{ rules: own, prefix: '' }, ...chain] : chain
}
