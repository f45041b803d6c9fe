import type { InjectOptions } from '../plugin.ts'
import type { FlatPrompt, PromptNode } from './prompt.ts'

/** The piece with this id, wherever it is in the tree. */
export function findPrompt(nodes: readonly PromptNode[], id: string): PromptNode | undefined {
  const place = locate(nodes, id)
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
  const place = locate(nodes, targetId)
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
export function missingPromptError(nodes: readonly PromptNode[], plugin: string, targetId: string): Error {
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

function locate<List extends readonly PromptNode[]>(siblings: List, id: string): Place<List> | undefined {
  for (const [index, node] of siblings.entries()) {
    if (node.id === id) return { siblings, index }
    const inside = node.children && locate(node.children as unknown as List, id)
    if (inside) return inside
  }
  return undefined
}

const allIds = (nodes: readonly PromptNode[]): string[] =>
  nodes.flatMap((node) => [node.id, ...allIds(node.children ?? [])])

/**
 * Texts with roles, in the order of the tree: each piece before what is inside it. The text of pieces without a role
 * joins that of the piece above, each on a line of its own. Empty texts vanish.
 */
export function flattenPrompts(nodes: readonly PromptNode[]): FlatPrompt[] {
  const flat: FlatPrompt[] = []
  for (const node of nodes) addPiece(node, flat)
  return flat
}

/** A piece that stands for itself: what is joined to it, then what stands for itself inside it. */
function addPiece(node: PromptNode, flat: FlatPrompt[]): void {
  if (node.enabled === false) return
  if (node.history) flat.push({ role: 'history', messages: node.history })
  const texts: string[] = []
  const apart: PromptNode[] = []
  collect(node, texts, apart)
  if (texts.length > 0) flat.push({ role: node.role ?? 'system', content: texts.join('\n') })
  for (const inner of apart) addPiece(inner, flat)
}

function collect(node: PromptNode, texts: string[], apart: PromptNode[]): void {
  if (!node.history && isSaid(node.text)) texts.push(node.text)
  for (const child of node.children ?? []) {
    if (child.enabled === false) continue
    if (child.role || child.history) apart.push(child)
    else collect(child, texts, apart)
  }
}

/** Services refuse texts of nothing but spaces. A tree may come from a file: its texts may be anything. */
const isSaid = (text: unknown): text is string => typeof text === 'string' && text.trim() !== ''
