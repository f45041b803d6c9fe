import type { TiddlyWikiCore } from './tiddlywiki-core.ts'

/** Does something, and tells of every filter that went wrong meanwhile. TiddlyWiki gives such an error as if it were a title. */
export function watchingFilters<T>(
  $tw: TiddlyWikiCore,
  work: () => T,
): { readonly result: T; readonly errors: readonly string[] } {
  const { wiki } = $tw
  const compile = wiki.compileFilter
  const errors = new Set<string>()
  const isError = errorTest($tw)
  wiki.compileFilter = function watched(filter) {
    const run = compile.call(this, filter)
    return function watchedRun(this: unknown, ...args) {
      const titles = run.apply(this, args)
      for (const title of titles.slice(0, lookedAt)) {
        if (errors.size < most && isError(title)) errors.add(title.slice(0, longest))
      }
      return titles
    }
  }
  try {
    return { result: work(), errors: [...errors] }
  } finally {
    wiki.compileFilter = compile
  }
}

const most = 50
const lookedAt = 1000
const longest = 400

const names = [
  'Filter',
  'FilterRunPrefix',
  'IsFilterOperator',
  'FormatFilterOperator',
  'DeserializeOperator/MissingOperand',
  'DeserializeOperator/UnknownDeserializer',
]

/** In the language of the wiki, and in the words that operators have in their code. */
function errorTest($tw: TiddlyWikiCore): (title: string) => boolean {
  const own = names.map((name) => $tw.language.getString(`Error/${name}`)).filter(Boolean)
  return (title) => (own.some((text) => title.startsWith(text)) || inCode.test(title)) && !$tw.wiki.tiddlerExists(title)
}

const inCode =
  /^(?:Filter error: |Filter Error: |range: |RegExp error: |SyntaxError: Invalid regular expression|\/\*\*-- Excessive filter recursion)/
