import type { TagNode } from '../knowledge-store.ts'
import { bounds, wholeNumber } from './bounds.ts'

/** What is tagged with a title, and so on, `depth` levels below it. Ends in circles, and where it grows too big. */
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
