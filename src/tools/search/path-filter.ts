import { expandBraces, GlobProblem, globSource } from './glob-pattern.ts'

/** Which files to search, as plain data for `pathFilter`. */
export interface PathFilterSpec {
  /** The common leading folders of all wanted paths, relative to the requested root. Empty, or ending with a slash. */
  readonly base: string
  /** Globs without braces for paths below `base`, of which one must match; empty accepts all. */
  readonly wanted: readonly string[]
  /** Globs for paths including `base`; matching files, and folders with their contents, are left out. */
  readonly unwanted: readonly string[]
  /** The maximum depth of a wanted path below `base`. */
  readonly depth: number | undefined
}

export const everyPath: PathFilterSpec = { base: '', wanted: [], unwanted: [], depth: undefined }

/** For globs such as `*.ts`, which match in any folder unless they contain a slash; with `!` they exclude. */
export function looseFilter(globs: readonly string[]): PathFilterSpec {
  const wanted: string[] = []
  const unwanted: string[] = []
  for (const glob of globs) {
    const isUnwanted = glob.startsWith('!')
    const list = isUnwanted ? unwanted : wanted
    for (const expanded of expandBraces(isUnwanted ? glob.slice(1) : glob)) list.push(anywhere(checked(expanded)))
  }
  return { ...rooted(wanted.map(withContents)), unwanted }
}

/** For one glob that must match the whole path. */
export function strictFilter(glob: string): PathFilterSpec {
  if (glob.startsWith('/'))
    throw new GlobProblem('it begins with a slash; give the folder as "path", and a pattern relative to it')
  return rooted(expandBraces(glob).map((one) => withContents(checked(one))))
}

/** Refuses a glob that leads out of the searched folder, or is invalid. */
function checked(glob: string): string {
  const plain = glob.replace(/^(?:\.\/)+/, '')
  if (plain.split('/').includes('..'))
    throw new GlobProblem('it contains ".."; give the folder as "path", and a pattern relative to it')
  globSource(plain)
  return plain
}

/** As in `.gitignore`: a glob with a slash before its end is relative to the root. */
function anywhere(glob: string): string {
  if (glob.startsWith('/')) return glob.slice(1)
  return glob.slice(0, -1).includes('/') ? glob : `**/${glob}`
}

/** A folder means its contents. */
const withContents = (glob: string): string => (glob.endsWith('/') ? `${glob}**` : glob)

/** Starts the search in the common folder of all globs. */
function rooted(globs: readonly string[]): PathFilterSpec {
  const split = globs.map((glob) => glob.split('/').filter((name) => name !== '.' && name !== ''))
  const [first = [], ...others] = split
  let shared = 0
  while (
    shared < first.length - 1 &&
    isPlain(first[shared]!) &&
    others.every((names) => isShared(names, first, shared))
  )
    shared++
  const base = first.slice(0, shared).map((name) => `${name}/`)
  const wanted = split.map((names) => names.slice(shared).join('/'))
  const depths = split.map((names) => (names.includes('**') ? Number.POSITIVE_INFINITY : names.length - shared))
  const depth = Math.max(0, ...depths)
  const isBounded = globs.length > 0 && Number.isFinite(depth)
  return { base: base.join(''), wanted, unwanted: [], depth: isBounded ? depth : undefined }
}

function isShared(names: readonly string[], first: readonly string[], at: number): boolean {
  return at < names.length - 1 && names[at] === first[at]
}

const isPlain = (name: string): boolean => !/[*?[\]\\{}]/.test(name)

interface PathFilter {
  /** Set if a path is accepted exactly if it ends like this. */
  readonly ending: string | undefined
  /** `path` is relative to the base. */
  acceptsFile(path: string): boolean
  entersFolder(path: string): boolean
}

export function pathFilter({ base, wanted, unwanted }: PathFilterSpec): PathFilter {
  const [only = '', ...others] = wanted
  const ending = others.length === 0 ? /^\*\*\/\*(\.[\w.-]+)$/.exec(only)?.[1] : undefined
  const want = wanted.length > 0 ? either(wanted, '') : undefined
  // The contents of an excluded folder are excluded too.
  const refuse = unwanted.length > 0 ? either(unwanted, '(?:/[^]*)?') : undefined
  return {
    ending: refuse ? undefined : ending,
    acceptsFile: (path) => (want?.test(path) ?? true) && !refuse?.test(base + path),
    entersFolder: (path) => !refuse?.test(`${base}${path}/`),
  }
}

function either(globs: readonly string[], rest: string): RegExp {
  return new RegExp(globs.map((glob) => `^${sourceOf(glob)}${glob.endsWith('/') ? '/[^]*' : rest}$`).join('|'), 'u')
}

const sourceOf = (glob: string): string => globSource(glob.replace(/\/$/, ''))

/**
 * Globs for file names that every accepted file matches, for ripgrep, which can filter by name; `undefined` if there are none.
 */
export function nameGlobs({ wanted }: PathFilterSpec): string[] | undefined {
  const names = wanted.map((glob) => glob.slice(glob.lastIndexOf('/') + 1))
  const isTelling = (name: string): boolean => !/^\**$/.test(name) && !/[?[\]\\{}]/.test(name)
  return names.length > 0 && names.every(isTelling) ? [...new Set(names)] : undefined
}

/** Excluded globs that apply in any folder, which ripgrep may skip. */
export function skippableGlobs({ unwanted }: PathFilterSpec): string[] {
  return unwanted.filter((glob) => /^\*\*\/[^/?[\]\\{}]+\/?$/.test(glob)).map((glob) => glob.slice('**/'.length))
}
