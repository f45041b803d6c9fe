import type { FlatPrompt, PromptNode } from './prompt.ts'

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
