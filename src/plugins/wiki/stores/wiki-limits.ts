import { AgentError } from '../../../core/errors.ts'
import type { FilterPage, TagNode } from '../knowledge-store.ts'

/** The limits of every result of a wiki. */
export const bounds = {
  filterLength: 10_000,
  titles: 10_000,
  titleCharacters: 1_000_000,
  recent: 1000,
  treeDepth: 20,
  treeNodes: 2000,
  renderedCharacters: 1_000_000,
  problems: 50,
  problemCharacters: 500,
  textCharacters: 16_000_000,
} as const

/** A part of a list of titles. It may be shorter than asked for because of the limits; `total` counts all titles. */
export function pageOf(
  titles: readonly string[],
  { offset, limit }: { readonly offset?: number | undefined; readonly limit?: number | undefined } = {},
): FilterPage {
  const first = wholeNumber('offset', offset, 0)
  const most = Math.min(wholeNumber('limit', limit, 1000), bounds.titles)
  const page: string[] = []
  let characters = 0
  for (const title of titles.slice(first, first + most)) {
    characters += title.length
    if (characters > bounds.titleCharacters) break
    page.push(title)
  }
  return { titles: page, total: titles.length }
}

/** Checks a number that the caller gave. */
export function wholeNumber(name: string, value: number | undefined, usual: number): number {
  if (value === undefined) return usual
  if (Number.isSafeInteger(value) && value >= 0) return value
  throw new AgentError(`"${name}" is ${String(value)}; give a whole number from 0 on`)
}

/** A text cut to its limit, with a note. */
export function boundedText(text: string, most: number): string {
  if (text.length <= most) return text
  return `${text.slice(0, most).toWellFormed()}… (cut after ${most} of ${text.length} characters)`
}

/** Checks the type and length of a filter. */
export function checkedFilter(filter: unknown): string {
  if (typeof filter !== 'string') throw new AgentError('A filter is a text such as "[tag[Journal]]"; give one')
  if (filter.length <= bounds.filterLength) return filter
  throw new AgentError(`The filter has ${filter.length} characters; give one of at most ${bounds.filterLength}`)
}

/** The tree of pages by their tags, `depth` levels below a title. Ends at cycles, and at the limit of nodes. */
export function tagTree(
  rootTitle: string,
  taggedWith: (title: string) => readonly string[],
  depth: number | undefined,
): TagNode {
  const levels = Math.min(wholeNumber('depth', depth, 3), bounds.treeDepth)
  let left: number = bounds.treeNodes
  const nodeOf = (title: string, above: readonly string[]): TagNode => {
    const tagged = taggedWith(title)
    const node = { title, count: tagged.length }
    if (above.includes(title)) return { ...node, children: [], isCycle: true }
    if (above.length >= levels) return { ...node, children: [] }
    const shown = tagged.slice(0, left)
    left -= shown.length
    return { ...node, children: shown.map((child) => nodeOf(child, [...above, title])) }
  }
  return nodeOf(rootTitle, [])
}
