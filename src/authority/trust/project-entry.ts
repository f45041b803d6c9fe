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
import type { TrustList } from './trust-list.ts'

/** What of a project may be used, for as long as it is open. */
export interface ProjectEntry {
  readonly root: string
  /** `plain` brings nothing; `restricted` is undecided and treated like `declined`; `once` is trusted until it is left. */
  readonly state: 'trusted' | 'once' | 'declined' | 'restricted' | 'plain'
  /** What may be used. */
  readonly items: readonly ProjectItem[]
  /** What waits for somebody to accept it. */
  readonly pending: readonly PendingItem[]
  /** The user's own first, then those of the project from the root of its repository down; not more than 32 KiB. */
  readonly instructions: readonly Instructions[]
  /** For a person: what is left out, and why. */
  readonly notice?: string
  /** Aborts when trust is taken back, also by another process: whatever came from the project has to stop. */
  readonly revoked: AbortSignal
  /** Whether it is trusted now: what `workspace.isTrusted` of an authority wants to know. */
  isTrusted(): boolean
  /** The digests of the tools that may be loaded now: what `mayReadProject` of `layeredTools` wants to know. */
  mayReadTools(): Promise<false | { readonly digests: readonly string[] }>
  /** Whether an item, or the file at a path, may be used; of a skill also its folder, and those in it. */
  mayRead(idOrPath: string): boolean
  /** Whether exactly this was accepted: the digest of an item, or of one of the files it is made of. */
  isAccepted(item: Wanted): boolean
  /** Looks at an item anew. What is loaded after this can still be another file: only bytes that were hashed are certain. */
  isUnchanged(idOrPath: string): Promise<boolean>
  dispose(): void
}

/** Something by its id or by the path of a file. */
interface Wanted {
  readonly id?: string
  readonly path?: string
  readonly digest: string
}

interface EntryFacts {
  readonly state: ProjectEntry['state']
  readonly notice?: string
  readonly notices?: readonly string[]
  readonly items?: readonly ProjectItem[]
  readonly pending?: readonly PendingItem[]
  /** To hear of a revocation. */
  readonly list?: TrustList
  readonly ownInstructions?: string
  /** What to do about items that are not what was accepted. */
  readonly advice?: string
  readonly claudeSkills: boolean
}

/** Puts together what entering a project found. */
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

/** What the model is told, and what people have to know about it. */
async function instructionsOf(
  root: string,
  items: readonly ProjectItem[],
  { ownInstructions }: EntryFacts,
): Promise<{ instructions: readonly Instructions[]; notices: readonly string[] }> {
  const { own, problem } = ownInstructions === undefined ? {} : await readOwnInstructions(ownInstructions)
  const found: Instructions[] = own ? [own] : []
  for (const item of rootFirst(items)) {
    const text = await readInstructions(root, item)
    // One is often a link to the other.
    if (text && !found.some((other) => other.text === text.text)) found.push(text)
  }
  const instructions = capInstructions(found)
  const unread = problem === undefined ? [] : [`${fullyVisible(ownInstructions ?? '')} is left out: ${problem}.`]
  return { instructions, notices: [...unread, ...instructions.flatMap(noticesAbout)] }
}

/** The gate gives what was known before what is new: the order of folders is made anew. */
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

/** Trust that nobody wrote down ends when somebody writes down the opposite. */
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
  // A folder counts for what was found in it; what came later was not.
  return real === realPath || [...files.keys()].some((file) => isWithin(real, file))
}

function matches({ path, files, ...item }: ProjectItem, { id, path: asked, digest }: Wanted, root: string): boolean {
  if (id !== undefined) return item.id === id && item.digest === digest
  if (asked === undefined) return false
  const full = resolve(root, asked)
  if (files.get(full) === digest) return true
  // The item itself may be a link; what it leads to was hashed first.
  const [first] = files.values()
  return full === path && files.size > 0 && (digest === first || digest === item.digest)
}

async function digestNow(
  root: string,
  { id, kind, path }: ProjectItem,
  { claudeSkills }: EntryFacts,
): Promise<string | undefined> {
  if (kind !== 'mcp') return (await itemFiles(await boundaryOf(root, kind), path, readingBudget())).digest
  return (await listItems(root, { claudeSkills })).find((item) => item.id === id && item.problem === undefined)?.digest
}
