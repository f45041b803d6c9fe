import type { Paint } from '../terminal/paint.ts'

/** Paints the lines of a code block one after the other: what begins in one line, as a comment, may end in a later one. */
export type CodePainter = (line: string) => string

/** A painter for a language as a fence names it; `undefined` if it is not known. Lines must be free of control characters. */
export function createCodePainter(lang: string | undefined, paint: Paint): CodePainter | undefined {
  const name = /^[\w+#-]*/.exec(lang ?? '')![0].toLowerCase()
  const syntax = syntaxes.get(name)
  if (!syntax) return undefined
  /** What ends the comment or text that is open. */
  let open: { readonly end: string; readonly style: 'dim' | 'green' } | undefined

  return (line) => {
    if (line.length > longest) return line
    let [painted, at] = ['', 0]
    const take = (to: number, style?: 'dim' | 'green' | 'yellow' | 'cyan'): void => {
      const text = line.slice(at, to)
      painted += style === undefined ? text : paint[style](text)
      at = to
    }
    while (at < line.length) {
      if (open) {
        const end = endOf(line, at, open.end)
        take(end ?? line.length, open.style)
        if (end === undefined) return painted
        open = undefined
        continue
      }
      const block = syntax.blocks.find(([begin]) => line.startsWith(begin, at))
      if (block) {
        const [begin, end, style] = block
        const closed = endOf(line, at + begin.length, end)
        take(closed ?? line.length, style)
        if (closed === undefined) open = { end, style }
        continue
      }
      if (syntax.lineComments.some((mark) => line.startsWith(mark, at) && isFree(line, at, mark))) {
        take(line.length, 'dim')
        continue
      }
      token.lastIndex = at
      const [found = line[at]!] = token.exec(line) ?? []
      take(at + found.length, styleOf(found, syntax))
    }
    return painted
  }
}

/** Longer lines are not worth the time. */
const longest = 2000

/** A `#` within a word is none that begins a comment. */
const isFree = (line: string, at: number, mark: string): boolean => mark !== '#' || at === 0 || /\s/.test(line[at - 1]!)

/** The index behind the end mark, unless a backslash is before it. */
function endOf(line: string, from: number, end: string): number | undefined {
  for (let at = line.indexOf(end, from); at >= 0; at = line.indexOf(end, at + 1)) {
    const [slashes] = /\\*$/.exec(line.slice(from, at))!
    if (end === '*/' || slashes.length % 2 === 0) return at + end.length
  }
  return undefined
}

/** A text in quotes on this line, a number, a word, or blanks. */
const token =
  /"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|\d[\w.]*|[\p{L}_$@][\p{L}\p{N}_$-]*(?<!-)|\s+|[^\s\p{L}\p{N}_$@"'`/#*-]+|./uy

function styleOf(text: string, { keywords, isCaseless }: Syntax): 'green' | 'yellow' | 'cyan' | undefined {
  if (text.length > 1 && (text[0] === '"' || text[0] === "'")) return 'green'
  if (/^\d/.test(text)) return 'yellow'
  return keywords.has(isCaseless ? text.toLowerCase() : text) ? 'cyan' : undefined
}

interface Syntax {
  readonly keywords: ReadonlySet<string>
  readonly lineComments: readonly string[]
  /** What may go over several lines, longer marks first. */
  readonly blocks: readonly (readonly [begin: string, end: string, style: 'dim' | 'green'])[]
  readonly isCaseless?: boolean
}

const words = (text: string): ReadonlySet<string> => new Set(text.split(/\s+/))

const cComment = ['/*', '*/', 'dim'] as const
const template = ['`', '`', 'green'] as const

const script: Syntax = {
  keywords: words(
    `abstract any as async await boolean break case catch class const continue debugger declare default delete do else
    enum export extends false finally for from function get if implements import in infer instanceof interface is keyof
    let namespace never new null number of override private protected public readonly return satisfies set static string
    super switch symbol this throw true try type typeof undefined unknown var void while with yield`,
  ),
  lineComments: ['//'],
  blocks: [cComment, template],
}

/** The words of C, C++, Java, C#, Go, Rust, Swift, Kotlin and PHP together: a wrong one costs a colour, no more. */
const braces: Syntax = {
  keywords: words(
    `abstract as async await auto bool boolean break byte case catch chan char class const constexpr continue crate
    default defer delete do double dyn echo else enum explicit export extends extern false final finally float fn for
    foreach func fun function go goto guard if impl implements import in inline int interface internal let long loop map
    match mod move mut namespace new nil none null nullptr object operator override package private protected public
    range ref return select self sizeof static string struct super switch template this throw throws trait true try type
    typedef typename union unsafe unsigned use using val var virtual void volatile when where while yield`,
  ),
  lineComments: ['//'],
  blocks: [cComment, template],
}

const python: Syntax = {
  keywords: words(
    `and as assert async await break case class continue def del elif else except False finally for from global if import
    in is lambda match None nonlocal not or pass raise return self True try while with yield`,
  ),
  lineComments: ['#'],
  blocks: [
    ['"""', '"""', 'green'],
    ["'''", "'''", 'green'],
  ],
}

const shell: Syntax = {
  keywords: words(
    `case cd do done echo elif else esac exit export fi for function if in local readonly return set shift source then
    trap unset until while`,
  ),
  lineComments: ['#'],
  blocks: [],
}

const ruby: Syntax = {
  keywords: words(
    `alias and begin break case class def do else elsif end ensure false for if in module next nil not or redo require
    rescue retry return self super then true undef unless until when while yield`,
  ),
  lineComments: ['#'],
  blocks: [],
}

const data: Syntax = { keywords: words('true false null yes no on off'), lineComments: ['#'], blocks: [] }
const json: Syntax = { keywords: words('true false null'), lineComments: ['//'], blocks: [cComment] }
const css: Syntax = {
  keywords: words('@media @import @supports @keyframes important'),
  lineComments: [],
  blocks: [cComment],
}
const sql: Syntax = {
  keywords: words(
    `add all alter and as asc begin between by case commit constraint create cross default delete desc distinct drop else
    end exists foreign from full group having if in index inner insert into is join key left like limit not null offset on
    or order outer primary references returning right rollback select set table then union unique update using values view
    when where with`,
  ),
  lineComments: ['--'],
  blocks: [cComment],
  isCaseless: true,
}

const syntaxes = new Map<string, Syntax>(
  (
    [
      [script, 'ts tsx js jsx mjs cjs mts cts typescript javascript'],
      [braces, 'c h cc cpp c++ cxx hpp java cs c# csharp go golang rust rs swift kotlin kt php scala dart'],
      [python, 'py python python3'],
      [shell, 'sh bash zsh shell console fish dockerfile docker makefile make'],
      [ruby, 'rb ruby'],
      [data, 'yaml yml toml ini conf properties env'],
      [json, 'json jsonc json5'],
      [css, 'css scss less'],
      [sql, 'sql postgres postgresql mysql sqlite'],
    ] as const
  ).flatMap(([syntax, names]) => names.split(' ').map((name): [string, Syntax] => [name, syntax])),
)
