import type { RenderProblem } from '../knowledge-store.ts'
import { unclosedMarks } from '../stores/unclosed-marks.ts'
import { boundedText, bounds } from '../stores/wiki-limits.ts'
import { watchingFilters } from './questions.ts'
import type { FakeNode, TiddlyWikiCore, TwWidget } from './tiddlywiki-core.ts'
import { thrownText } from './tiddlywiki-core.ts'

/** Renders a tiddler as plain text, and collects problems. */
export function renderTiddler(
  $tw: TiddlyWikiCore,
  title: string,
): { readonly text: string; readonly problems: readonly RenderProblem[] } {
  const container = $tw.fakeDocument.createElement('div')
  const widget = $tw.wiki.makeTranscludeWidget(title, { importPageMacros: true, variables: { currentTiddler: title } })
  const { result: failure, errors } = watchingFilters($tw, () => failureOf($tw, () => widget.render(container, null)))
  const problems: RenderProblem[] = [
    ...(failure ? [failure] : []),
    ...errors.map((message) => ({ kind: 'filter' as const, message })),
    ...problemsOf($tw, widget),
    ...errorNodes(container),
    ...(isWikitext($tw, title) ? unclosedMarks($tw.wiki.getTiddlerText(title, '')) : []),
  ]
  return { text: boundedText(textOf(container).trim(), bounds.renderedCharacters), problems: distinct(problems) }
}

function failureOf($tw: TiddlyWikiCore, work: () => void): RenderProblem | undefined {
  try {
    work()
    return undefined
  } catch (error) {
    const Recursion = $tw.utils.TranscludeRecursionError
    const isRecursion = (Recursion && error instanceof Recursion) || /Maximum call stack/.test(thrownText(error))
    return isRecursion
      ? { kind: 'recursion', message: $tw.language.getString('Error/RecursiveTransclusion') }
      : { kind: 'script', message: `Rendering failed: ${thrownText(error)}` }
  }
}

/** Names of missing tiddlers, macros and widgets, which TiddlyWiki ignores. */
function problemsOf($tw: TiddlyWikiCore, top: TwWidget): RenderProblem[] {
  const problems: RenderProblem[] = []
  for (const widget of inOrder(top)) {
    const message = missingIn($tw, widget)
    if (message !== undefined) problems.push({ kind: 'missing', message })
    if (problems.length >= bounds.problems) break
  }
  return problems
}

/** Walks a tree from the top. Iterative, as the tree may be too wide for a spread and too deep for recursion. */
function* inOrder<Node extends { readonly children?: readonly Node[] }>(top: Node): Generator<Node> {
  const waiting = [top]
  while (waiting.length > 0) {
    const node = waiting.pop()!
    yield node
    for (const child of (node.children ?? []).toReversed()) waiting.push(child)
  }
}

function missingIn($tw: TiddlyWikiCore, widget: TwWidget): string | undefined {
  const { type, text, start, children = [] } = widget.parseTreeNode ?? {}
  // A text without a position in the source was created by TiddlyWiki.
  if (type === 'text' && start === undefined && /^Undefined widget '/.test(text ?? '')) return text
  if (type !== 'transclude' || children.length > 0) return undefined
  if (widget.transcludeVariable) {
    const found = widget.getVariableInfo(widget.transcludeVariable, { params: [] })
    if (found.srcVariable !== undefined || found.text !== undefined) return undefined
    return `There is no macro or variable "${widget.transcludeVariable}"`
  }
  const title = widget.transcludeTitle
  if (!title || $tw.wiki.tiddlerExists(title) || $tw.wiki.isShadowTiddler(title)) return undefined
  return `There is no tiddler "${title}" to transclude`
}

function errorNodes(top: FakeNode): RenderProblem[] {
  const problems: RenderProblem[] = []
  for (const node of inOrder(top)) {
    if (node.nodeType !== 1 || !/(?:^|\s)tc-error(?:\s|$)/.test(node.className ?? '')) continue
    const message = node.textContent
    problems.push({ kind: /recursi/i.test(message) ? 'recursion' : 'script', message })
    if (problems.length >= bounds.problems) break
  }
  return problems
}

const isWikitext = ($tw: TiddlyWikiCore, title: string): boolean =>
  ['', 'text/vnd.tiddlywiki'].includes(String($tw.wiki.getTiddler(title)?.fields.type ?? ''))

function distinct(problems: readonly RenderProblem[]): RenderProblem[] {
  const byMessage = new Map<string, RenderProblem>()
  for (const { kind, message } of problems) {
    const bounded = boundedText(message, bounds.problemCharacters)
    if (!byMessage.has(bounded)) byMessage.set(bounded, { kind, message: bounded })
  }
  return [...byMessage.values()].slice(0, bounds.problems)
}

const blocks = /^(?:p|div|h[1-6]|ul|ol|li|dl|dt|dd|table|tr|pre|blockquote|hr|br|section|article)$/

/** TiddlyWiki's own plain text has no space between blocks. */
function textOf(top: FakeNode): string {
  const parts: string[] = []
  const add = (node: FakeNode): void => {
    if (node.nodeType === 3) {
      parts.push(node.textContent)
      return
    }
    const isBlock = blocks.test(node.tag ?? '')
    if (isBlock && parts.length > 0 && !parts.at(-1)!.endsWith('\n')) parts.push('\n')
    for (const child of node.children) add(child)
    if (node.tag === 'td' || node.tag === 'th') parts.push('\t')
    if (isBlock && !parts.at(-1)?.endsWith('\n')) parts.push('\n')
  }
  add(top)
  return parts.join('')
}
