import { readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { tokenise } from '../import-graph.ts'

/** A name of a subpath and what it denotes. Two names that denote the same have the same `id`. */
export interface PublicName {
  readonly name: string
  readonly id: string
  /** A function or a class, unless only its type is exported. */
  readonly isCallable: boolean
}

/** The public names of a package, read from its built declarations, and the types that each of them mentions. */
export interface Declarations {
  namesOf(types: string): PublicName[]
  /** The ids of what the declaration mentions, each declared in the package. */
  mentionedBy(id: string): string[]
}

interface DeclarationFile {
  readonly declared: Map<string, string>
  /** Local name → where it comes from. */
  readonly imported: Map<string, readonly [file: string, name: string]>
  /** Public name → local name. */
  readonly exported: Map<string, { readonly local: string; readonly isType: boolean }>
}

export function readDeclarations(folder: string): Declarations {
  const files = new Map<string, DeclarationFile>()
  const fileAt = (path: string): DeclarationFile => {
    const file = files.get(path) ?? parse(path, readFileSync(join(folder, path), 'utf8'))
    files.set(path, file)
    return file
  }
  const idOf = (path: string, local: string): string | undefined => {
    const { declared, imported } = fileAt(path)
    if (declared.has(local)) return `${path}#${local}`
    const [from, name] = imported.get(local) ?? []
    const there = from !== undefined && name !== undefined ? fileAt(from).exported.get(name) : undefined
    return there && idOf(from!, there.local)
  }
  const textOf = (id: string): string => {
    const [path, local] = id.split('#') as [string, string]
    return fileAt(path).declared.get(local)!
  }
  return {
    namesOf: (types) =>
      [...fileAt(types).exported].flatMap(([name, { local, isType }]) => {
        const id = idOf(types, local)
        return id === undefined
          ? []
          : [{ name, id, isCallable: !isType && /^(abstract )?(class|function) |^const .*=>/s.test(textOf(id)) }]
      }),
    mentionedBy(id) {
      const [path] = id.split('#') as [string]
      const ids = wordsIn(textOf(id)).flatMap((word) => idOf(path, word) ?? [])
      return [...new Set(ids)].filter((other) => other !== id)
    },
  }
}

function parse(path: string, text: string): DeclarationFile {
  const file: DeclarationFile = { declared: new Map(), imported: new Map(), exported: new Map() }
  for (const statement of text.split(/^(?=(?:export|import|declare|interface|type|class) )/m)) {
    const [, verb, onlyType, list, from] =
      /^(import|export) (type )?\{([^}]*)\}(?: from "(\..+)")?/.exec(statement) ?? []
    for (const [name, as, isType] of namesIn(list ?? '')) {
      const local = from !== undefined && verb === 'export' ? `${as} of ${from}` : name
      const source = from !== undefined && normalize(join(dirname(path), from)).replace(/\.js$/, '.d.ts')
      if (source) file.imported.set(verb === 'import' ? as : local, [source, name])
      if (verb === 'export') file.exported.set(as, { local, isType: onlyType !== undefined || isType })
    }
    const [, isExported, code, name] =
      /^(export )?(?:declare )?((?:abstract )?(?:interface|type|class|function|const) ([\w$]+).*)/s.exec(statement) ??
      []
    if (list !== undefined || code === undefined || name === undefined) continue
    file.declared.set(name, [file.declared.get(name), code].filter(Boolean).join('\n'))
    if (isExported) file.exported.set(name, { local: name, isType: false })
  }
  return file
}

/** `a as B, type C`. */
function namesIn(list: string): (readonly [name: string, as: string, isType: boolean])[] {
  const parts = list.split(',').map((part) => part.trim())
  return parts.filter(Boolean).map((part) => {
    const [name, as = name] = part.replace(/^type /, '').split(' as ') as [string, string?]
    return [name, as!, part.startsWith('type ')]
  })
}

/** Words that may name a type: no keys, no parameters, no properties of something, no type parameters. */
function wordsIn(code: string): string[] {
  const tokens = tokenise(code)
  const own = new Set(tokens.filter(({ kind }, i) => kind === 'word' && isTypeParameter(i)).map(({ text }) => text))
  return tokens.flatMap(({ kind, text }, i) => {
    const [before, next, afterNext] = [tokens[i - 1]?.text, tokens[i + 1]?.text, tokens[i + 2]?.text]
    const isKey = next === ':' || (next === '?' && afterNext === ':') || (next === '(' && before !== 'new')
    return kind === 'word' && before !== '.' && before !== 'typeof' && !isKey && !own.has(text) ? [text] : []
  })

  function isTypeParameter(i: number): boolean {
    const [before, next] = [tokens[i - 1]?.text, tokens[i + 1]?.text]
    return (
      (before === '<' || before === 'const' || before === ',' || before === 'infer') &&
      (next === 'extends' || next === '=')
    )
  }
}
