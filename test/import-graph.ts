import { readdirSync, readFileSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { join, posix } from 'node:path'

/** Source files by their path below `src`, with forward slashes. */
export type Sources = ReadonlyMap<string, string>

export interface Import {
  /** Undefined when it is computed at run time. */
  readonly specifier: string | undefined
  readonly kind: 'static' | 'type' | 'dynamic'
}

/** Who may import whom. Keys are folders of `src`, or files that lie in it directly. */
export interface Rules {
  /** A target is a folder or a file (`chat/state`); a file of a folder may always import its neighbours. */
  readonly layers: Readonly<Record<string, readonly string[]>>
  /** Layers that stand side by side and must not know each other. */
  readonly rows: readonly (readonly string[])[]
  readonly core: {
    readonly forbidden: readonly string[]
  }
  /** Entry points that a web page may load: they and all they import know nothing of Node and need no package. */
  readonly browser: readonly string[]
  /** The only files that may be called `index.ts`. */
  readonly indexes: readonly string[]
}

export interface Breach {
  readonly kind:
    | 'layer'
    | 'sibling'
    | 'unknown layer'
    | 'cycle'
    | 'missing file'
    | 'own package'
    | 'core built-in'
    | 'core package'
    | 'core global'
    | 'core computed import'
    | 'browser import'
    | 'browser global'
    | 'index'
  readonly file: string
  readonly detail: string
}

/** All sources of a folder, tests left out. */
export function readSources(folder: string): Sources {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((file) => file.replaceAll('\\', '/'))
  const sources = files.filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts')).sort()
  return new Map(sources.map((file) => [file, readFileSync(join(folder, file), 'utf8')]))
}

/** Everything that breaks the rules. */
export function breachesOf(sources: Sources, rules: Rules): Breach[] {
  const found = [...sources].flatMap(([file, source]) => [
    ...placeBreaches(file, rules),
    ...importsOf(source).flatMap((one) => importBreaches(file, one, sources, rules)),
    ...(layerOf(file) === 'core' ? nodeGlobals(source, rules).map(breachOf('core global', file)) : []),
  ])
  return [...found, ...browserBreaches(sources, rules), ...cycleBreaches(sources)]
}

/** The files that loading one file loads at once: its static value imports, and theirs; or those by other kinds of import. */
export function loadedBy(
  entry: string,
  sources: Sources,
  kinds: readonly Import['kind'][] = ['static'],
): { files: Set<string>; others: Set<string> } {
  const files = new Set<string>()
  const others = new Set<string>()
  const visit = (file: string): void => {
    if (files.has(file)) return
    files.add(file)
    for (const { specifier, kind } of importsOf(sources.get(file) ?? '')) {
      if (specifier === undefined || !kinds.includes(kind)) continue
      if (isRelative(specifier)) visit(resolve(file, specifier))
      else others.add(specifier)
    }
  }
  visit(entry)
  return { files, others }
}

/** The imports of a file, in order. `import { type A }` is static: only `import type` leaves nothing behind. */
export function importsOf(source: string): Import[] {
  const tokens = tokenise(source)
  const imports: Import[] = []
  for (const [i, token] of tokens.entries()) {
    if (token.kind !== 'word' || tokens[i - 1]?.text === '.') continue
    const next = tokens[i + 1]
    if (token.text === 'import') {
      if (next?.text === '(') imports.push({ specifier: literal(tokens, i + 2), kind: 'dynamic' })
      else if (next?.kind === 'string') imports.push({ specifier: next.text, kind: 'static' })
      else if (next?.kind === 'word' || next?.text === '{' || next?.text === '*') push(i, isTypeImport(tokens, i))
    }
    if (token.text === 'export') {
      const isType = next?.text === 'type'
      const opening = tokens[i + (isType ? 2 : 1)]?.text
      if (opening === '{' || opening === '*') push(i, isType)
    }
  }
  return imports

  function push(from: number, isType: boolean): void {
    const specifier = specifierAfter(tokens, from)
    if (specifier !== undefined) imports.push({ specifier, kind: isType ? 'type' : 'static' })
  }
}

export interface Token {
  readonly kind: 'word' | 'string' | 'number' | 'regex' | 'template' | 'sign'
  /** The value of a string, the source of anything else. */
  readonly text: string
}

/** As much of TypeScript's grammar as it takes to tell code from comments, strings, templates and regular expressions. */
export function tokenise(source: string): Token[] {
  const tokens: Token[] = []
  /** For each open `${`, how many braces were open before it. */
  const holes: number[] = []
  let braces = 0
  let i = 0
  while (i < source.length) {
    const rest = source.slice(i, i + 2)
    if (rest === '//') i = endOf(source, '\n', i)
    else if (rest === '/*') i = endOf(source, '*/', i + 2)
    else if (/\s/.test(source[i]!)) i++
    else if (source[i] === '`') readTemplate(i + 1)
    else if (source[i] === '}' && holes.at(-1) === braces) {
      holes.pop()
      readTemplate(i + 1)
    } else readPlain()
  }
  return tokens

  function readPlain(): void {
    const [kind, pattern] = patterns.find(([kind, pattern]) => {
      pattern.lastIndex = i
      return (kind !== 'regex' || mayStartRegex(tokens.at(-1))) && pattern.test(source)
    })!
    pattern.lastIndex = i
    const [text] = pattern.exec(source)!
    if (text === '{') braces++
    if (text === '}') braces--
    tokens.push({ kind, text: kind === 'string' ? text.slice(1, -1) : text })
    i += text.length
  }

  /** Up to the end of the template, or to its next `${`, where code begins. */
  function readTemplate(from: number): void {
    let end = from
    while (end < source.length && source[end] !== '`' && !source.startsWith('${', end))
      end += source[end] === '\\' ? 2 : 1
    const isHole = source.startsWith('${', end)
    tokens.push({ kind: 'template', text: source.slice(from, end) })
    if (isHole) holes.push(braces)
    i = end + (isHole ? 2 : 1)
  }
}

const patterns: readonly (readonly [Token['kind'], RegExp])[] = [
  ['string', /'(?:[^'\\\n]|\\[\s\S])*'|"(?:[^"\\\n]|\\[\s\S])*"/y],
  ['number', /\d[\w.]*/y],
  ['word', /[\p{L}_$#@][\p{L}\p{N}_$]*/uy],
  ['regex', /\/(?:[^/\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[a-z]*/y],
  ['sign', /\.{3}|=>|\?\.|[\s\S]/uy],
]

/** A slash after a value divides; after anything else it starts a regular expression. */
function mayStartRegex(before: Token | undefined): boolean {
  if (before === undefined) return true
  if (before.kind === 'word')
    return /^(return|typeof|case|in|of|do|else|void|delete|await|yield|throw)$/.test(before.text)
  return before.kind === 'sign' && ![')', ']', '}'].includes(before.text)
}

function endOf(source: string, mark: string, from: number): number {
  const at = source.indexOf(mark, from)
  return at < 0 ? source.length : at + mark.length
}

/** `import type X from`, but not `import type from`, which imports a value called `type`. */
function isTypeImport(tokens: readonly Token[], at: number): boolean {
  if (tokens[at + 1]?.text !== 'type') return false
  const [next, after] = [tokens[at + 2]?.text, tokens[at + 3]?.text]
  return next !== ',' && !(next === 'from' && after !== 'from')
}

/** What an import or export clause names as its origin; undefined when it has none. */
function specifierAfter(tokens: readonly Token[], from: number): string | undefined {
  for (let i = from + 1; i < tokens.length; i++) {
    const { kind, text } = tokens[i]!
    if (text === 'from' && tokens[i + 1]?.kind === 'string') return tokens[i + 1]!.text
    if (text === '{') {
      while (i < tokens.length && tokens[i]!.text !== '}') i++
      if (tokens[i + 1]?.text !== 'from') return undefined
    } else if (kind !== 'word' && text !== ',' && text !== '*') return undefined
  }
  return undefined
}

function literal(tokens: readonly Token[], at: number): string | undefined {
  const [value, after] = [tokens[at], tokens[at + 1]]
  const isWhole = after?.text === ')' || after?.text === ','
  return isWhole && (value?.kind === 'string' || value?.kind === 'template') ? value.text : undefined
}

const isRelative = (specifier: string): boolean => /^\.{1,2}(\/|$)/.test(specifier)
/** A query such as `?worker` is for the bundler. */
const resolve = (file: string, specifier: string): string =>
  posix.join(posix.dirname(file), specifier.replace(/\?.*$/, ''))

/** The folder of `src` that a file lies in; a file in `src` itself stands for itself. */
const layerOf = (file: string): string => file.split('/')[0]!

function placeBreaches(file: string, { layers, indexes }: Rules): Breach[] {
  const breaches: Breach[] = []
  if (!Object.hasOwn(layers, layerOf(file)))
    breaches.push({ kind: 'unknown layer', file, detail: `${layerOf(file)} is not in the table` })
  if (posix.basename(file) === 'index.ts' && !indexes.includes(file))
    breaches.push({ kind: 'index', file, detail: 'index.ts belongs at the root of a subpath' })
  return breaches
}

function importBreaches(file: string, { specifier }: Import, sources: Sources, rules: Rules): Breach[] {
  const isCore = layerOf(file) === 'core'
  const breach = (kind: Breach['kind'], detail = String(specifier)): Breach[] => [{ kind, file, detail }]
  if (specifier === undefined) return isCore ? breach('core computed import', 'its target cannot be checked') : []
  if (isRelative(specifier)) {
    const target = resolve(file, specifier)
    if (target.endsWith('.tsx')) return [] // a part of the page, which the compiler finds or not
    if (!sources.has(target)) return breach('missing file')
    return layerBreaches(file, target, rules)
  }
  if (/^libero(\/|$)/.test(specifier)) return breach('own package')
  if (!isCore) return []
  if (isBuiltin(specifier)) return breach('core built-in')
  return breach('core package')
}

function layerBreaches(file: string, target: string, { layers, rows }: Rules): Breach[] {
  const [from, to] = [layerOf(file), layerOf(target)]
  if (from === to) return []
  const allowed = layers[from] ?? []
  if (allowed.some((one) => one === to || one === target.replace(/\.ts$/, ''))) return []
  const isSibling = rows.some((row) => row.includes(from) && row.includes(to))
  return [{ kind: isSibling ? 'sibling' : 'layer', file, detail: target }]
}

/** What a bundler for a web page could not resolve, in any file that it would take in. */
function browserBreaches(sources: Sources, rules: Rules): Breach[] {
  const files = new Set(rules.browser.flatMap((entry) => [...loadedBy(entry, sources, ['static', 'dynamic']).files]))
  return [...files].flatMap((file) => {
    const source = sources.get(file) ?? ''
    const values = importsOf(source).filter(({ kind }) => kind !== 'type')
    const others = values.filter(({ specifier }) => specifier === undefined || !isRelative(specifier))
    return [
      ...others.map(({ specifier }) => String(specifier)).map(breachOf('browser import', file)),
      ...nodeGlobals(source, rules).map(breachOf('browser global', file)),
    ]
  })
}

const breachOf =
  (kind: Breach['kind'], file: string) =>
  (detail: string): Breach => ({ kind, file, detail })

/** Names that only Node knows, used as values: neither a property nor a key. `globalThis.process` is a value too. */
function nodeGlobals(source: string, { core }: Rules): string[] {
  const tokens = tokenise(source)
  return tokens.flatMap(({ kind, text }, i) => {
    if (kind !== 'word' || !core.forbidden.includes(text)) return []
    const [owner, before, after] = [tokens[i - 2]?.text, tokens[i - 1]?.text, tokens[i + 1]?.text]
    const isProperty = (before === '.' || before === '?.') && owner !== 'globalThis'
    const isKey = after === ':' && before !== '?' && before !== 'case'
    return isProperty || isKey ? [] : [text]
  })
}

/** One breach per group of files that import each other in a circle. A dynamic import closes a circle, a type does not. */
function cycleBreaches(sources: Sources): Breach[] {
  const valueImports = (file: string): string[] =>
    importsOf(sources.get(file) ?? '').flatMap(({ specifier, kind }) =>
      kind !== 'type' && specifier !== undefined && isRelative(specifier) ? [resolve(file, specifier)] : [],
    )
  const breaches: Breach[] = []
  const state = new Map<string, 'open' | 'done'>()
  const path: string[] = []
  const visit = (file: string): void => {
    if (state.get(file) === 'done') return
    if (state.get(file) === 'open') {
      const circle = path.slice(path.indexOf(file))
      breaches.push({ kind: 'cycle', file, detail: [...circle, file].join(' → ') })
      return
    }
    state.set(file, 'open')
    path.push(file)
    for (const target of valueImports(file)) visit(target)
    path.pop()
    state.set(file, 'done')
  }
  for (const file of sources.keys()) visit(file)
  return breaches
}
