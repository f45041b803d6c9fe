import { digestOf } from '../../platform/digest.ts'
import { type ReadingBudget, readingBudget } from '../../platform/source-files.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import { instructionsBudget } from './instructions.ts'
import { itemFiles } from './item-files.ts'
import { type McpEntry, mcpItems } from './mcp-items.ts'
import { placeOf } from './place.ts'
import { type ItemKind, type ProjectName, projectNames } from './project-names.ts'

/** Something in a project that could run or steer, as it is now. */
export interface ProjectItem {
  /** Its path in the project, with `/`; for a server followed by `#` and its name. */
  readonly id: string
  readonly kind: ItemKind
  readonly path: string
  readonly digest: string
  /** The files it is made of: digests by real path. */
  readonly files: ReadonlyMap<string, string>
  /** For a person: nothing cut, nothing hidden. */
  readonly shown: string
  readonly server?: { readonly name: string; readonly entry: McpEntry }
  /** Why it cannot be trusted as it is. */
  readonly problem?: string
}

/**
 * All that a project brings, hashed; nothing is run, and only the lists of MCP servers are read for what they say. Opens
 * files of the project, so it is for those that somebody trusts or wants to know the digest of.
 */
export async function listItems(root: string): Promise<readonly ProjectItem[]> {
  const { canonicalPath } = await placeOf(root)
  const { names } = await projectNames(canonicalPath)
  const budget = readingBudget()
  const items: ProjectItem[] = []
  for (const name of names) items.push(...(await itemsOf(canonicalPath, name, budget)))
  return items
}

/** One digest over all that a project brings, to trust it by where nobody can be asked. */
export async function projectDigest(root: string): Promise<string> {
  return digestOfItems(await listItems(root))
}

/** The same of items that are at hand. */
export function digestOfItems(items: readonly ProjectItem[]): string {
  return digestOf(JSON.stringify(items.map(({ id, digest, problem }) => [id, problem === undefined ? digest : null])))
}

async function itemsOf(root: string, name: ProjectName, budget: ReadingBudget): Promise<readonly ProjectItem[]> {
  if (name.kind === 'mcp') return mcpItems(root, name, budget)
  const found = await itemFiles(root, name.path, name.kind === 'instructions' ? instructionsBudget() : budget)
  const count = found.files.size > 1 ? ` (${found.files.size} files)` : ''
  return [{ ...name, ...found, shown: `${name.kind} ${fullyVisible(name.id)}${count}` }]
}
