import { resolve } from 'node:path'
import { readingBudget } from '../../platform/source-files.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import { type Instructions, readInstructions } from './instructions.ts'
import { itemFiles } from './item-files.ts'
import type { PendingItem } from './item-gate.ts'
import type { Place } from './place.ts'
import { listItems, type ProjectItem } from './project-items.ts'
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
  readonly instructions: readonly Instructions[]
  /** For a person: what is left out, and why. */
  readonly notice?: string
  /** Aborts when trust is taken back, also by another process: whatever came from the project has to stop. */
  readonly revoked: AbortSignal
  /** Whether it is trusted now: what `workspace.isTrusted` of an authority wants to know. */
  isTrusted(): boolean
  /** The digests of the tools that may be loaded now: what `mayReadProject` of `layeredTools` wants to know. */
  mayReadTools(): Promise<false | { readonly digests: readonly string[] }>
  /** Whether an item, or the file at a path, may be used. */
  mayRead(idOrPath: string): boolean
  /** Whether exactly this was accepted: the digest of an item, or of one of the files it is made of. */
  isAccepted(item: Wanted): boolean
  /** Looks at an item anew. What is loaded after this can still be another file: only bytes that were hashed are certain. */
  isUnchanged(id: string): Promise<boolean>
  dispose(): void
}

/** Something by its id or by the path of a file. */
interface Wanted {
  readonly id?: string
  readonly path?: string
  readonly digest: string
}

interface Found {
  readonly state: ProjectEntry['state']
  readonly notice?: string
  readonly notices?: readonly string[]
  readonly items?: readonly ProjectItem[]
  readonly pending?: readonly PendingItem[]
  /** To hear of a revocation. */
  readonly list?: TrustList
}

/** Puts together what entering a project found. */
export async function createEntry({ canonicalPath: root }: Place, found: Found): Promise<ProjectEntry> {
  const { state, items = [], pending = [], list } = found
  const revocation = new AbortController()
  const instructions = await instructionsOf(root, items)
  const isOpen = () => !revocation.signal.aborted
  const isTrusted = () => isOpen() && (state === 'trusted' || state === 'once')
  const tools = items.filter(({ kind }) => kind === 'tool').map(({ digest }) => digest)
  const stopWatching = list ? watchTrust(list, root, state, () => revocation.abort()) : undefined
  const notice = noticeOf(found, pending, instructions)
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
    mayRead: (idOrPath) =>
      isOpen() && items.some((item) => item.id === idOrPath || covers(item, resolve(root, idOrPath))),
    isAccepted: (wanted) => isOpen() && items.some((item) => matches(item, wanted, root)),
    async isUnchanged(id) {
      const item = items.find((one) => one.id === id)
      if (!item || !isOpen()) return false
      return item.digest === (await digestNow(root, item)) && isOpen()
    },
    dispose: () => stopWatching?.(),
  }
}

async function instructionsOf(root: string, items: readonly ProjectItem[]): Promise<readonly Instructions[]> {
  const found: Instructions[] = []
  for (const item of items) {
    const text = item.kind === 'instructions' ? await readInstructions(root, item) : undefined
    // One is often a link to the other.
    if (text && !found.some((other) => other.text === text.text)) found.push(text)
  }
  return found
}

/** Trust that nobody wrote down ends when somebody writes down the opposite. */
function watchTrust(list: TrustList, root: string, state: ProjectEntry['state'], onEnd: () => void): () => void {
  const since = state === 'trusted' ? 'trusted' : undefined
  return list.watch(root, since, (now) => {
    if (state === 'trusted' ? now !== 'trusted' : now === 'declined') onEnd()
  })
}

function noticeOf(
  { notice, notices = [] }: Found,
  pending: readonly PendingItem[],
  texts: readonly Instructions[],
): string {
  const left = pending.map(
    ({ id, why, problem }) => `${fullyVisible(id)} is left out: ${problem ?? `it is ${why} and was not accepted`}.`,
  )
  const hidden = texts.flatMap(({ id, stripped }) =>
    stripped > 0 ? [`${id} has ${stripped} hidden characters, which the model does not get.`] : [],
  )
  return [...(notice ? [notice] : []), ...notices, ...left, ...hidden].join('\n')
}

function covers({ path, files, kind }: ProjectItem, asked: string): boolean {
  return kind !== 'mcp' && (path === asked || files.has(asked))
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

async function digestNow(root: string, { id, kind, path }: ProjectItem): Promise<string | undefined> {
  if (kind !== 'mcp') return (await itemFiles(root, path, readingBudget())).digest
  return (await listItems(root)).find((item) => item.id === id && item.problem === undefined)?.digest
}
