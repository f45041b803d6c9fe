import type { InjectOptions } from '../plugin.ts'
import type { FlatPrompt, PromptNode } from './prompt.ts'

/** The prompt with this id, anywhere in the tree. */
export function findPrompt(nodes: readonly PromptNode[], id: string): PromptNode | undefined {
  for (const node of nodes) {
    const found = node.id === id ? node : findPrompt(node.children ?? [], id)
    if (found) return found
  }
  return undefined
}

/** Inserts a text before, after or into a prompt. False if there is no such prompt. */
export function injectContent(nodes: PromptNode[], options: InjectOptions): boolean {
  const { targetId, position, content, caption } = options
  const id = options.id ?? `${targetId}-${position}`
  return injectNode(nodes, {
    targetId,
    position,
    node: { id, text: content, ...(caption !== undefined && { caption }) },
  })
}

/** Inserts a node before, after or into a prompt. False if there is no such prompt. */
export function injectNode(
  nodes: PromptNode[],
  { targetId, position, node }: Pick<InjectOptions, 'targetId' | 'position'> & { readonly node: PromptNode },
): boolean {
  const target = locate(nodes, targetId)
  if (!target) return false
  const { siblings, index } = target
  if (position === 'child') {
    const parent = siblings[index]!
    parent.children = [...(parent.children ?? []), node]
    return true
  }
  siblings.splice(position === 'before' ? index : index + 1, 0, node)
  return true
}

/** An error that names the missing prompt and the existing ones. */
export function missingPromptError(nodes: readonly PromptNode[], plugin: string, targetId: string): Error {
  const ids = allIds(nodes)
  const more = ids.length > mostIds ? `, and ${ids.length - mostIds} more` : ''
  const known = ids.length > 0 ? `there are ${ids.slice(0, mostIds).join(', ')}${more}` : 'there are none'
  return new Error(`${plugin}: no prompt has the id "${targetId}"; ${known}. Change targetId, or add the prompt.`)
}

const mostIds = 20

interface Location {
  readonly siblings: PromptNode[]
  readonly index: number
}

function locate(siblings: PromptNode[], id: string): Location | undefined {
  for (const [index, node] of siblings.entries()) {
    if (node.id === id) return { siblings, index }
    const inside = node.children && locate(node.children, id)
    if (inside) return inside
  }
  return undefined
}

const allIds = (nodes: readonly PromptNode[]): string[] =>
  nodes.flatMap((node) => [node.id, ...allIds(node.children ?? [])])

/**
 * Texts with roles, in the order of the tree: each prompt before its children. The text of a prompt without a role joins
 * that of its parent, on a line of its own. Empty texts are left out.
 */
export function flattenPrompts(nodes: readonly PromptNode[]): FlatPrompt[] {
  const flat: FlatPrompt[] = []
  for (const node of nodes) addPrompt(node, flat)
  return flat
}

/** Adds a prompt with the texts that join it, then its children with roles of their own. */
function addPrompt(node: PromptNode, flat: FlatPrompt[]): void {
  if (node.enabled === false) return
  if (node.history) flat.push({ role: 'history', messages: node.history })
  const texts: string[] = []
  const apart: PromptNode[] = []
  collect(node, texts, apart)
  if (texts.length > 0) flat.push({ role: node.role ?? 'system', content: texts.join('\n') })
  for (const inner of apart) addPrompt(inner, flat)
}

function collect(node: PromptNode, texts: string[], apart: PromptNode[]): void {
  if (!node.history && hasText(node.text)) texts.push(node.text)
  for (const child of node.children ?? []) {
    if (child.enabled === false) continue
    if (child.role || child.history) apart.push(child)
    else collect(child, texts, apart)
  }
}

/** Services refuse texts of spaces only. A tree from a file may have values that are no texts. */
const hasText = (text: unknown): text is string => typeof text === 'string' && text.trim() !== ''
