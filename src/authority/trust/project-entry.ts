import { dirname, join, relative, resolve } from 'node:path'
import { isWithin, readingBudget } from '../../platform/source-files.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import {
  capInstructions,
  type Instructions,
  mostInstructions,
  readInstructions,
  readOwnInstructions,
} from './instructions.ts'
import type { PendingItem } from './item-gate.ts'
import type { ProjectIdentity } from './project-identity.ts'
import { boundaryOf, itemFiles, listItems, type ProjectItem } from './project-items.ts'
import type { ClaudeSearch } from './project-names.ts'
import type { TrustList } from './trust-list.ts'

/** The usable part of an open project. */
export interface ProjectEntry {
  readonly root: string
  /** `plain`: has no items. `restricted`: undecided, treated like `declined`. `once`: trusted until it is closed. */
  readonly state: 'trusted' | 'once' | 'declined' | 'restricted' | 'plain'
  readonly items: readonly ProjectItem[]
  readonly pending: readonly PendingItem[]
  /** The user's own first, then the project's from the root of its repository down; at most 32 KiB. */
  readonly instructions: readonly Instructions[]
  /** For a person: what is left out and why. */
  readonly notice?: string
  /** Aborts when trust is revoked, also by another process: everything from the project must stop. */
  readonly revoked: AbortSignal
  /** Whether it is trusted now; for `workspace.isTrusted` of an authority. */
  isTrusted(): boolean
  /** The digests of the tools that may be loaded now; for `mayReadProject` of `layeredTools`. */
  mayReadTools(): Promise<false | { readonly digests: readonly string[] }>
  /** Whether an item, or the file at a path, may be used; of a skill also its folder and the folders in it. */
  mayRead(idOrPath: string): boolean
  /** Whether this digest was accepted, of an item or of one of its files. */
  isAccepted(item: Wanted): boolean
  /** Hashes an item again. A file may still change afterwards: only the bytes that were hashed are certain. */
  isUnchanged(idOrPath: string): Promise<boolean>
  dispose(): void
}

interface Wanted {
  readonly id?: string
  readonly path?: string
  readonly digest: string
}

export interface EntryFacts extends ClaudeSearch {
  readonly state: ProjectEntry['state']
  readonly notice?: string
  readonly notices?: readonly string[]
  readonly items?: readonly ProjectItem[]
  readonly pending?: readonly PendingItem[]
  readonly list?: TrustList
  readonly ownInstructions?: string
  readonly advice?: string
}

/** Creates the entry. */
export async function createEntry(
  { canonicalPath: root }: Pick<ProjectIdentity, 'canonicalPath'>,
  found: EntryFacts,
): Promise<ProjectEntry> {
  const { state, items = [], pending = [], list } = found
  const revocation = new AbortController()
  const { instructions, notices } = await instructionsOf(root, items, found)
  const isOpen = () => !revocation.signal.aborted
  const isTrusted = () => isOpen() && (state === 'trusted' || state === 'once')
  const tools = items.filter(({ kind }) => kind === 'tool').map(({ digest }) => digest)
  const stopWatching = list ? watchTrust(list, root, state, () => revocation.abort()) : undefined
  const itemAt = (idOrPath: string): ProjectItem | undefined =>
    items.find((item) => item.id === idOrPath || covers(item, resolve(root, idOrPath)))
  const notice = [...noticesOf(found, pending), ...notices].join('\n')
  return {
    root,
    state,
    items,
    pending,
    instructions,
    ...(notice !== '' && { notice }),
    revoked: revocation.signal,
    isTrusted,
    mayReadTools: async () => isTrusted() && { digests: tools },
    mayRead: (idOrPath) => isOpen() && itemAt(idOrPath) !== undefined,
    isAccepted: (wanted) => isOpen() && items.some((item) => matches(item, wanted, root)),
    async isUnchanged(idOrPath) {
      const item = itemAt(idOrPath)
      if (!item || !isOpen()) return false
      return item.digest === (await digestNow(root, item, found)) && isOpen()
    },
    dispose: () => stopWatching?.(),
  }
}

async function instructionsOf(
  root: string,
  items: readonly ProjectItem[],
  { ownInstructions }: EntryFacts,
): Promise<{ instructions: readonly Instructions[]; notices: readonly string[] }> {
  const { own, problem } = ownInstructions === undefined ? {} : await readOwnInstructions(ownInstructions)
  const found: Instructions[] = own ? [own] : []
  for (const item of rootFirst(items)) {
    const text = await readInstructions(root, item)
    // Skips duplicates: one file is often a link to another.
    if (text && !found.some((other) => other.text === text.text)) found.push(text)
  }
  const instructions = capInstructions(found)
  const unread = problem === undefined ? [] : [`${fullyVisible(ownInstructions ?? '')} is left out: ${problem}.`]
  return { instructions, notices: [...unread, ...instructions.flatMap(noticesAbout)] }
}

/** Sorts instructions by folder: the gate returns known items before new ones. */
function rootFirst(items: readonly ProjectItem[]): readonly ProjectItem[] {
  const depth = ({ path }: ProjectItem): number => dirname(path).length
  return items.filter(({ kind }) => kind === 'instructions').sort((a, b) => depth(a) - depth(b))
}

function noticesAbout({ id, stripped, left = 0 }: Instructions): readonly string[] {
  const name = fullyVisible(id)
  return [
    ...(stripped > 0 ? [`${name} has ${stripped} hidden characters, which the model does not get.`] : []),
    ...(left > 0
      ? [`${name} is cut by ${left} bytes: all instructions together may have ${mostInstructions}. Make them shorter.`]
      : []),
  ]
}

/** Watches for a revocation. Trust for once ends only when the project is declined. */
function watchTrust(list: TrustList, root: string, state: ProjectEntry['state'], onEnd: () => void): () => void {
  const since = state === 'trusted' ? 'trusted' : undefined
  return list.watch(root, since, (now) => {
    if (state === 'trusted' ? now !== 'trusted' : now === 'declined') onEnd()
  })
}

function noticesOf({ notice, notices = [], advice }: EntryFacts, pending: readonly PendingItem[]): readonly string[] {
  const left = pending.map(
    ({ id, why, problem }) => `${fullyVisible(id)} is left out: ${problem ?? `it is ${why} and was not accepted`}.`,
  )
  const isAdvised = advice !== undefined && pending.some(({ problem }) => problem === undefined)
  return [...(notice ? [notice] : []), ...notices, ...left, ...(isAdvised ? [`${advice}.`] : [])]
}

function covers({ path, realPath, files, kind }: ProjectItem, asked: string): boolean {
  if (kind === 'mcp') return false
  if (path === asked || files.has(asked)) return true
  if (realPath === undefined) return false
  const real = isWithin(path, asked) ? join(realPath, relative(path, asked)) : asked
  if (!isWithin(realPath, real)) return false
  // A folder counts only if accepted files are in it.
  return real === realPath || [...files.keys()].some((file) => isWithin(real, file))
}

function matches({ path, files, ...item }: ProjectItem, { id, path: asked, digest }: Wanted, root: string): boolean {
  if (id !== undefined) return item.id === id && item.digest === digest
  if (asked === undefined) return false
  const full = resolve(root, asked)
  if (files.get(full) === digest) return true
  // The item itself may be a link; the digest of its target comes first.
  const [first] = files.values()
  return full === path && files.size > 0 && (digest === first || digest === item.digest)
}

async function digestNow(
  root: string,
  { id, kind, path }: ProjectItem,
  search: EntryFacts,
): Promise<string | undefined> {
  if (kind !== 'mcp') return (await itemFiles(await boundaryOf(root, kind), path, readingBudget())).digest
  return (await listItems(root, search)).find((item) => item.id === id && item.problem === undefined)?.digest
}
