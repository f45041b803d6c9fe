import type { InjectOptions } from '../plugin.ts'
import type { PromptNode } from './prompt.ts'

/** The piece with this id, wherever it is in the tree. */
export function findPrompt(nodes: readonly PromptNode[], id: string): PromptNode | undefined {
  const place = placeOf(nodes, id)
  return place?.siblings[place.index]
}

/** Puts a text before or after a piece, or into it. False where there is no such piece. */
export function injectContent(nodes: PromptNode[], options: InjectOptions): boolean {
  const { targetId, position, content, caption } = options
  const id = options.id ?? `${targetId}-${position}`
  return injectNode(nodes, {
    targetId,
    position,
    node: { id, text: content, ...(caption !== undefined && { caption }) },
  })
}

/** The same with a whole piece. */
export function injectNode(
  nodes: PromptNode[],
  { targetId, position, node }: Pick<InjectOptions, 'targetId' | 'position'> & { readonly node: PromptNode },
): boolean {
  const place = placeOf(nodes, targetId)
  if (!place) return false
  const { siblings, index } = place
  if (position === 'child') {
    const target = siblings[index]!
    target.children = [...(target.children ?? []), node]
    return true
  }
  siblings.splice(position === 'before' ? index : index + 1, 0, node)
  return true
}

/** Says which piece is missing, and which there are. */
export function noSuchPrompt(nodes: readonly PromptNode[], plugin: string, targetId: string): Error {
  const ids = allIds(nodes)
  const more = ids.length > mostIds ? `, and ${ids.length - mostIds} more` : ''
  const known = ids.length > 0 ? `there are ${ids.slice(0, mostIds).join(', ')}${more}` : 'there are none'
  return new Error(`${plugin}: no prompt has the id "${targetId}"; ${known}. Change targetId, or add the prompt.`)
}

const mostIds = 20

interface Place<List> {
  readonly siblings: List
  readonly index: number
}

function placeOf<List extends readonly PromptNode[]>(siblings: List, id: string): Place<List> | undefined {
  for (const [index, node] of siblings.entries()) {
    if (node.id === id) return { siblings, index }
    const inside = node.children && placeOf(node.children as unknown as List, id)
    if (inside) return inside
  }
  return undefined
}

const allIds = (nodes: readonly PromptNode[]): string[] =>
  nodes.flatMap((node) => [node.id, ...allIds(node.children ?? [])])
