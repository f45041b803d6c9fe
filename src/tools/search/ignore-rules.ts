import { globSource } from './glob-pattern.ts'

/** What the rules of one `.gitignore` say: `true` leaves it out, `false` keeps it in, `undefined` leaves it to others. */
export interface IgnoreFile {
  verdict(name: string, path: string, isFolder: boolean): boolean | undefined
}

interface Rule {
  /** Later rules win over earlier ones. */
  readonly position: number
  readonly isKept: boolean
  readonly isForFolders: boolean
}

type PathRule = Rule & { readonly regex: RegExp }

/** The rules of a `.gitignore`, read as ripgrep reads them; `undefined` when there are none. */
export function parseIgnoreFile(text: string): IgnoreFile | undefined {
  const names = new Map<string, Rule[]>()
  const extensions = new Map<string, Rule[]>()
  const paths: PathRule[] = []
  const lines = text.replace(/^\ufeff/, '').split('\n')
  for (const [position, line] of lines.entries()) {
    const parsed = parseLine(line.replace(/\r$/, ''))
    if (!parsed) continue
    const rule = { position, isKept: parsed.isKept, isForFolders: parsed.isForFolders }
    // Most rules are a name or an extension, and a lookup is far quicker than a regular expression for each.
    const [, name, extension] = simple.exec(parsed.glob) ?? []
    if (name !== undefined) addTo(names, name, rule)
    else if (extension !== undefined) addTo(extensions, extension, rule)
    else addPath(paths, parsed.glob, rule)
  }
  if (names.size + extensions.size + paths.length === 0) return undefined
  paths.reverse()

  return {
    verdict(name, path, isFolder) {
      let best = applying(names.get(name), isFolder, undefined)
      if (extensions.size > 0) {
        const dot = name.lastIndexOf('.')
        if (dot >= 0) best = applying(extensions.get(name.slice(dot)), isFolder, best)
      }
      if (paths.length > 0) best = applyingPath(paths, path, isFolder, best)
      return best && !best.isKept
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

/** A glob that is none is left out, the others hold. */
function addPath(paths: PathRule[], glob: string, rule: Rule): void {
  try {
    paths.push({ ...rule, regex: new RegExp(`^${globSource(asBytes(glob), { isLenient: true })}$`) })
  } catch {}
}

function applying(rules: readonly Rule[] | undefined, isFolder: boolean, best: Rule | undefined): Rule | undefined {
  if (!rules) return best
  const last = rules.findLast(({ isForFolders }) => isFolder || !isForFolders)
  return last && (!best || last.position > best.position) ? last : best
}

/** `paths` begins with the last rule. */
function applyingPath(
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
  readonly isKept: boolean
  readonly isForFolders: boolean
}

function parseLine(line: string): IgnoreLine | undefined {
  if (line.startsWith('#')) return undefined
  let glob = line.endsWith('\\ ') ? line : line.trimEnd()
  if (glob === '') return undefined
  let isKept = false
  let isAnchored = false
  if (glob.startsWith('\\!') || glob.startsWith('\\#')) glob = glob.slice(1)
  else {
    isKept = glob.startsWith('!')
    if (isKept) glob = glob.slice(1)
    isAnchored = glob.startsWith('/')
    if (isAnchored) glob = glob.slice(1)
  }
  const isForFolders = glob.endsWith('/')
  if (isForFolders) glob = glob.replace(/\\?\/$/, '')
  if (!isAnchored && !glob.includes('/') && glob !== '**') glob = `**/${glob}`
  // What is inside of a folder, but not the folder itself.
  if (glob.endsWith('/**')) glob = `${glob}/*`
  return { glob, isKept, isForFolders }
}

/** Ripgrep matches bytes: a `?` is one of them, even when a character takes several. */
function asBytes(text: string): string {
  return isAscii.test(text) ? text : Buffer.from(text).toString('latin1')
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: all of ASCII is meant
const isAscii = /^[\x00-\x7f]*$/

/** The rules that hold in one folder, those of the nearest `.gitignore` first, each with the way from there to here. */
export type IgnoreChain = readonly { readonly rules: IgnoreFile; readonly way: string }[]

export function isIgnored(chain: IgnoreChain, name: string, isFolder: boolean): boolean {
  for (const { rules, way } of chain) {
    const verdict = rules.verdict(name, way + name, isFolder)
    if (verdict !== undefined) return verdict
  }
  return false
}

/** The rules one folder further in, before its own are known. */
export function enterFolder(chain: IgnoreChain, name: string): IgnoreChain {
  return chain.length === 0 ? chain : chain.map(({ rules, way }) => ({ rules, way: `${way}${name}/` }))
}

/** With the rules of the folder itself, where it has some. */
export function withRules(chain: IgnoreChain, own: IgnoreFile | undefined): IgnoreChain {
  return own ? [{ rules: own, way: '' }, ...chain] : chain
}
