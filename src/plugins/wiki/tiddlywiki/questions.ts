import { AgentError } from '../../../core/errors.ts'
import type { FilterPage, TagNode, Tiddler } from '../knowledge-store.ts'
import { bounds, checkedFilter, pageOf, tagTree, wholeNumber } from '../stores/wiki-limits.ts'
import type { TiddlyWikiCore, TwTiddler } from './tiddlywiki-core.ts'

/** The reading calls of a wiki, by TiddlyWiki's own functions. */
export const questions = {
  get($tw: TiddlyWikiCore, { title }: { readonly title: string }): Tiddler | undefined {
    const found = $tw.wiki.getTiddler(title)
    return found && toTiddler(found)
  },

  filter($tw: TiddlyWikiCore, { filter, offset, limit }: FilterQuestion): FilterPage {
    const { result, errors } = watchingFilters($tw, () => $tw.wiki.filterTiddlers(checkedFilter(filter)))
    const [first] = errors
    if (first === undefined) return pageOf(result, { offset, limit })
    throw new AgentError(`The filter ${JSON.stringify(filter.slice(0, 200))} is wrong: ${first}; correct it`)
  },

  backlinks($tw: TiddlyWikiCore, { title, limit }: { readonly title: string; readonly limit?: number }): FilterPage {
    const found = $tw.wiki.getTiddlerBacklinks(title).sort((a, b) => a.localeCompare(b))
    return pageOf(found, { limit })
  },

  tagTree($tw: TiddlyWikiCore, { title, depth }: { readonly title: string; readonly depth?: number }): TagNode {
    return tagTree(title, (tag) => $tw.wiki.getTiddlersWithTag(tag), depth)
  },

  recent($tw: TiddlyWikiCore, { limit, since = '' }: { readonly limit?: number; readonly since?: string }): Tiddler[] {
    const most = Math.min(wholeNumber('limit', limit, 20), bounds.recent)
    return $tw.wiki
      .filterTiddlers('[all[tiddlers]!is[system]has[modified]]')
      .map((title) => toTiddler($tw.wiki.getTiddler(title)!))
      .filter(({ modified }) => modified !== undefined && modified >= since)
      .sort((a, b) => b.modified!.localeCompare(a.modified!) || a.title.localeCompare(b.title))
      .slice(0, most)
      .map(({ text: _, ...tiddler }) => tiddler)
  },
}

interface FilterQuestion {
  readonly filter: string
  readonly offset?: number
  readonly limit?: number
}

export function toTiddler(tiddler: TwTiddler): Tiddler {
  const { title, text, tags: _, type, created, modified, ...fields } = tiddler.getFieldStrings()
  const tags = tiddler.fields.tags ?? []
  return {
    title: title!,
    ...(text && { text }),
    ...(tags.length > 0 && { tags: [...tags] }),
    ...(type && { type }),
    ...(created && { created }),
    ...(modified && { modified }),
    ...(Object.keys(fields).length > 0 && { fields }),
  }
}

/** Runs work, and collects errors of filters, which TiddlyWiki returns as if they were titles. */
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

/** Recognises errors in the language of the wiki, and those that operators have in their code. */
function errorTest($tw: TiddlyWikiCore): (title: string) => boolean {
  const own = names.map((name) => $tw.language.getString(`Error/${name}`)).filter(Boolean)
  return (title) => (own.some((text) => title.startsWith(text)) || inCode.test(title)) && !$tw.wiki.tiddlerExists(title)
}

const inCode =
  /^(?:Filter error: |Filter Error: |range: |RegExp error: |SyntaxError: Invalid regular expression|\/\*\*-- Excessive filter recursion)/
