import { expandBraces, GlobProblem, globSource } from './glob-pattern.ts'

/** Which files are meant, as plain data: see `pathFilter`. */
export interface PathFilterSpec {
  /** The folders that all wanted paths begin with, below the place that was asked for. Empty, or ending with a slash. */
  readonly base: string
  /** Globs without braces for paths below `base`, of which one has to match; none means that all do. */
  readonly wanted: readonly string[]
  /** Globs for paths with `base`: what matches is left out, and a folder with all that is in it. */
  readonly unwanted: readonly string[]
  /** How many names a wanted path has below `base` at most. */
  readonly depth: number | undefined
}

export const everyPath: PathFilterSpec = { base: '', wanted: [], unwanted: [], depth: undefined }

/** For globs as in `glob: '*.ts'`, which match in any folder unless they name one; with a `!` they leave out. */
export function looseFilter(globs: readonly string[]): PathFilterSpec {
  const wanted: string[] = []
  const unwanted: string[] = []
  for (const glob of globs) {
    const isUnwanted = glob.startsWith('!')
    const list = isUnwanted ? unwanted : wanted
    for (const one of expandBraces(isUnwanted ? glob.slice(1) : glob)) list.push(anywhere(checked(one)))
  }
  return { ...rooted(wanted.map(withContents)), unwanted }
}

/** For one glob that is matched from its beginning. */
export function strictFilter(glob: string): PathFilterSpec {
  if (glob.startsWith('/'))
    throw new GlobProblem('it begins with a slash; give the folder as "path", and a pattern relative to it')
  return rooted(expandBraces(glob).map((one) => withContents(checked(one))))
}

/** Refuses what leads out of the folder that is searched, and what is no glob. */
function checked(glob: string): string {
  const plain = glob.replace(/^(?:\.\/)+/, '')
  if (plain.split('/').includes('..'))
    throw new GlobProblem('it contains ".."; give the folder as "path", and a pattern relative to it')
  globSource(plain)
  return plain
}

/** As in `.gitignore`: a slash before the end binds a glob to where it is read from. */
function anywhere(glob: string): string {
  if (glob.startsWith('/')) return glob.slice(1)
  return glob.slice(0, -1).includes('/') ? glob : `**/${glob}`
}

/** A folder stands for what is in it. */
const withContents = (glob: string): string => (glob.endsWith('/') ? `${glob}**` : glob)

/** Begins the search in the folder that all globs name, so that nothing else is walked through. */
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

export interface PathFilter {
  /** All that matters is that a path ends like this. */
  readonly ending: string | undefined
  /** `path` is relative to the base. */
  acceptsFile(path: string): boolean
  entersFolder(path: string): boolean
}

export function pathFilter({ base, wanted, unwanted }: PathFilterSpec): PathFilter {
  const [only = '', ...others] = wanted
  const ending = others.length === 0 ? /^\*\*\/\*(\.[\w.-]+)$/.exec(only)?.[1] : undefined
  const want = wanted.length > 0 ? either(wanted, '') : undefined
  // What is in a folder is left out with it.
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
 * Globs for names alone that every accepted file matches, for an engine that can only filter by those; `undefined` when
 * no such can be told.
 */
export function nameGlobs({ wanted }: PathFilterSpec): string[] | undefined {
  const names = wanted.map((glob) => glob.slice(glob.lastIndexOf('/') + 1))
  const isTelling = (name: string): boolean => !/^\**$/.test(name) && !/[?[\]\\{}]/.test(name)
  return names.length > 0 && names.every(isTelling) ? [...new Set(names)] : undefined
}

/** Globs of what is left out in any folder, which an engine may skip. */
export function skippableGlobs({ unwanted }: PathFilterSpec): string[] {
  return unwanted.filter((glob) => /^\*\*\/[^/?[\]\\{}]+\/?$/.test(glob)).map((glob) => glob.slice('**/'.length))
}
