import { type Clock, systemClock } from '../../../core/clock.ts'
import { AgentError } from '../../../core/errors.ts'
import type { KnowledgeStore, RenderProblem, Tiddler, Wiki, WikiCall, WorkspaceInfo } from '../knowledge-store.ts'
import {
  checkedTiddler,
  checkTitle,
  checkUnchanged,
  throwReadOnly,
  throwUnknownTiddler,
  throwUnknownWorkspace,
  wikiDate,
} from './checked-tiddler.ts'
import { type FilterSource, runFilter } from './memory-filter.ts'
import { unclosedMarks, withoutCode } from './unclosed-marks.ts'
import { boundedText, bounds, checkedFilter, pageOf, tagTree, wholeNumber } from './wiki-limits.ts'

/**
 * Wikis in memory, for tests and for pages that a program creates. Supports a part of TiddlyWiki's filters, and refuses
 * the rest; rendering resolves transclusions only.
 */
export function createMemoryKnowledgeStore({
  workspaces,
  readOnly = [],
  clock = systemClock,
}: {
  readonly workspaces: Readonly<Record<string, readonly Tiddler[]>>
  /** The names of read-only workspaces. */
  readonly readOnly?: readonly string[]
  readonly clock?: Clock
}): KnowledgeStore {
  const wikis = new Map(
    Object.entries(workspaces).map(([name, tiddlers]) => {
      const info: WorkspaceInfo = { name, ...(readOnly.includes(name) && { isReadOnly: true }) }
      return [name, memoryWiki(info, tiddlers, clock)] as const
    }),
  )
  return {
    workspaces: async () => [...wikis.values()].map(({ info }) => info),
    async open(name) {
      return wikis.get(name) ?? throwUnknownWorkspace(name, [...wikis.keys()])
    },
  }
}

function memoryWiki(info: WorkspaceInfo, seed: readonly Tiddler[], clock: Clock): Wiki {
  const pages = new Map(seed.map((tiddler) => [tiddler.title, checkedTiddler(tiddler)]))
  const source = filterSource(pages)

  return {
    info,
    get: (title, call) => answer(call, () => pages.get(title)),
    filter: (filter, call) => answer(call, () => pageOf(runFilter(checkedFilter(filter), source()), call)),
    backlinks: (title, call) => answer(call, () => pageOf(source().backlinks(title), call)),
    tagTree: (title, call) => answer(call, () => tagTree(title, source().taggedWith, call?.depth)),
    recent: (call) =>
      answer(call, () => {
        const since = call?.since ? wikiDate(call.since.getTime()) : ''
        const most = Math.min(wholeNumber('limit', call?.limit, 20), bounds.recent)
        return [...pages.values()]
          .filter(({ title, modified }) => !title.startsWith('$:/') && modified !== undefined && modified >= since)
          .sort((a, b) => b.modified!.localeCompare(a.modified!) || a.title.localeCompare(b.title))
          .slice(0, most)
          .map(({ text: _, ...tiddler }) => tiddler)
      }),
    render: (title, call) =>
      answer(call, () => {
        if (!pages.has(title)) throwUnknownTiddler(title, info.name)
        return renderMarkup(title, (wanted) => pages.get(wanted))
      }),
    put: (tiddler, call) =>
      answer(call, () => {
        if (info.isReadOnly) throwReadOnly(info.name)
        const checked = checkedTiddler(tiddler)
        checkUnchanged(checked.title, pages.get(checked.title), call)
        const now = wikiDate(clock.now())
        const created = pages.get(checked.title)?.created ?? checked.created ?? now
        const kept = { ...checked, created, modified: now }
        pages.set(kept.title, kept)
        return kept
      }),
    delete: (title, call) =>
      answer(call, () => {
        if (info.isReadOnly) throwReadOnly(info.name)
        checkTitle(title)
        checkUnchanged(title, pages.get(title), call)
        return pages.delete(title)
      }),
  }
}

async function answer<T>(call: WikiCall | undefined, work: () => T): Promise<T> {
  call?.signal?.throwIfAborted()
  try {
    return structuredClone(work())
  } catch (error) {
    if (error instanceof RangeError) throw new AgentError(`The wiki in memory ran out of room: ${error.message}`)
    throw error
  }
}

/** The current pages for a filter. */
function filterSource(pages: ReadonlyMap<string, Tiddler>): () => FilterSource {
  return () => {
    const titles = [...pages.keys()].sort((a, b) => a.localeCompare(b))
    const tags = (title: string): readonly string[] => pages.get(title)?.tags ?? []
    return {
      titles,
      tags,
      field(title, name) {
        const page = pages.get(title)
        return page ? fieldOf(page, name) : undefined
      },
      taggedWith(title) {
        const listed = listOf(pages.get(title)?.fields?.list ?? '')
        const tagged = titles.filter((other) => tags(other).includes(title))
        return [
          ...listed.filter((other) => tagged.includes(other)),
          ...tagged.filter((other) => !listed.includes(other)),
        ]
      },
      backlinks: (title) => titles.filter((other) => linksOf(pages.get(other)?.text ?? '').includes(title)),
    }
  }
}

/** A list of titles as TiddlyWiki writes it: `one [[and two]]`. */
function listOf(text: string): string[] {
  return [...text.matchAll(/\[\[([^[\]]*)\]\](?=\s|$)|(\S+)/g)].map(([, long, short]) => long ?? short ?? '')
}

/** The titles that a text links to: `[[x]]` and `[[text|x]]`, but not transclusions and web addresses. */
function linksOf(text: string): string[] {
  const found = withoutCode(text).matchAll(/\[\[(?:[^[\]|]*\|)?([^[\]|]+)\]\]/g)
  return [...new Set([...found].map((link) => link[1]!.trim()))].filter((target) => !/^[a-z][a-z\d+.-]*:/i.test(target))
}

/** A text with its transclusions resolved, and their problems. Other markup stays as it is. */
function renderMarkup(
  title: string,
  find: (title: string) => Tiddler | undefined,
): { readonly text: string; readonly problems: readonly RenderProblem[] } {
  const problems: RenderProblem[] = []
  let left: number = bounds.renderedCharacters
  const note = (problem: RenderProblem): string => {
    if (problems.length < bounds.problems && !problems.some(({ message }) => message === problem.message))
      problems.push({ ...problem, message: boundedText(problem.message, bounds.problemCharacters) })
    return ''
  }
  const resolved = (text: string, above: readonly string[]): string =>
    text.replace(/\{\{([^{}|!\n]*)(?:!!([^{}|\n]+))?\}\}/g, (_, spelled: string, field: string | undefined) => {
      const target = spelled.trim() || title
      const page = find(target)
      if (!page) return note({ kind: 'missing', message: `There is no tiddler "${target}" to transclude` })
      if (field !== undefined) return fieldOf(page, field.trim()) ?? ''
      if (above.includes(target) || left <= 0) return note({ kind: 'recursion', message: recursion })
      left -= page.text?.length ?? 0
      return resolved(page.text ?? '', [...above, target])
    })
  const page = find(title)
  for (const problem of unclosedMarks(page?.text ?? '')) note(problem)
  const text = resolved(page?.text ?? '', [title]).replace(
    /\[\[(?:([^[\]|]*)\|)?([^[\]|]+)\]\]/g,
    (_, shown, target) => shown ?? target,
  )
  return { text: boundedText(text, bounds.renderedCharacters), problems }
}

/** A field by its TiddlyWiki name. */
function fieldOf(tiddler: Tiddler, name: string): string | undefined {
  if (name === 'tags') return tiddler.tags?.map((tag) => (/\s/.test(tag) ? `[[${tag}]]` : tag)).join(' ')
  if (name === 'title' || name === 'text' || name === 'type' || name === 'created' || name === 'modified')
    return tiddler[name]
  return tiddler.fields && Object.hasOwn(tiddler.fields, name) ? tiddler.fields[name] : undefined
}

/** The text of TiddlyWiki. */
const recursion = 'Recursive transclusion error in transclude widget'
