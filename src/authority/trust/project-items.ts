import { realpath } from 'node:fs/promises'
import { digestOf } from '../../platform/digest.ts'
import { type ReadingBudget, readingBudget } from '../../platform/source-files.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import { repositoryOf } from './instruction-files.ts'
import { instructionsBudget } from './instructions.ts'
import { itemFiles } from './item-files.ts'
import { type McpEntry, mcpItems } from './mcp-items.ts'
import { identifyProject } from './project-identity.ts'
import { type ItemKind, type ProjectName, type ProjectSearchOptions, projectNames } from './project-names.ts'

/** Something in a project that could run or steer, as it is now. */
export interface ProjectItem {
  /** Its path from the folder of the project, with `/`; for a server followed by `#` and its name. */
  readonly id: string
  readonly kind: ItemKind
  readonly path: string
  /** Of a skill: where it really lies, links followed. */
  readonly realPath?: string
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
export async function listItems(root: string, lookFor: ProjectSearchOptions = {}): Promise<readonly ProjectItem[]> {
  const { canonicalPath } = await identifyProject(root)
  const { names } = await projectNames(canonicalPath, lookFor)
  const budget = readingBudget()
  const items: ProjectItem[] = []
  for (const name of names) items.push(...(await itemsOf(canonicalPath, name, budget)))
  return items
}

/** One digest over all that a project brings, to trust it by where nobody can be asked. */
export async function projectDigest(root: string, lookFor: ProjectSearchOptions = {}): Promise<string> {
  return digestOfItems(await listItems(root, lookFor))
}

/** The same of items that are at hand. */
export function digestOfItems(items: readonly ProjectItem[]): string {
  return digestOf(JSON.stringify(items.map(({ id, digest, problem }) => [id, problem === undefined ? digest : null])))
}

async function itemsOf(root: string, name: ProjectName, budget: ReadingBudget): Promise<readonly ProjectItem[]> {
  if (name.kind === 'mcp') return mcpItems(root, name, budget)
  const isText = name.kind === 'instructions'
  const found = await itemFiles(await boundaryOf(root, name.kind), name.path, isText ? instructionsBudget() : budget)
  const realPath = name.kind === 'skill' ? await realpath(name.path).catch(() => undefined) : undefined
  const count = found.files.size > 1 ? ` (${found.files.size} files)` : ''
  const shown = `${name.kind} ${fullyVisible(name.id)}${count}`
  return [{ ...name, ...found, shown, ...(realPath !== undefined && { realPath }) }]
}

/** What the files of an item must not lead out of: instructions belong to the whole repository. */
export async function boundaryOf(root: string, kind: ItemKind): Promise<string> {
  return kind === 'instructions' ? repositoryOf(root) : root
}
