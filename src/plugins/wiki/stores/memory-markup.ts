import type { RenderProblem, Tiddler } from '../knowledge-store.ts'
import { boundedText, bounds } from './bounds.ts'
import { unclosedMarks, withoutCode } from './unclosed-marks.ts'

/** The titles a text links to: `[[x]]` and `[[text|x]]`. A transclusion is no link, nor is an address on the web. */
export function linksOf(text: string): string[] {
  const found = withoutCode(text).matchAll(/\[\[(?:[^[\]|]*\|)?([^[\]|]+)\]\]/g)
  return [...new Set([...found].map((link) => link[1]!.trim()))].filter((target) => !/^[a-z][a-z\d+.-]*:/i.test(target))
}

/** A text with its transclusions in their places, and what is wrong with them. Other markup stays as it is written. */
export function renderMarkup(
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

/** A field by the name it has in TiddlyWiki. */
export function fieldOf(tiddler: Tiddler, name: string): string | undefined {
  if (name === 'tags') return tiddler.tags?.map((tag) => (/\s/.test(tag) ? `[[${tag}]]` : tag)).join(' ')
  if (name === 'title' || name === 'text' || name === 'type' || name === 'created' || name === 'modified')
    return tiddler[name]
  return tiddler.fields && Object.hasOwn(tiddler.fields, name) ? tiddler.fields[name] : undefined
}

/** TiddlyWiki's own words. */
const recursion = 'Recursive transclusion error in transclude widget'
