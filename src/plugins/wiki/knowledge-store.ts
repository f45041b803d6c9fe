import { AgentError } from '../../core/errors.ts'

/** Wikis by name. */
export interface KnowledgeStore {
  workspaces(): Promise<readonly WorkspaceInfo[]>
  /** Rejects an unknown name with an error that lists the known ones. */
  open(workspaceName: string): Promise<Wiki>
  /** Releases threads and files. May be called twice. */
  close?(): Promise<void>
}

export interface WorkspaceInfo {
  readonly name: string
  /** Scripts run there. Absent for a wiki in memory. */
  readonly folder?: string
  readonly isReadOnly?: boolean
  readonly description?: string
}

/** A page. All fields are texts, as TiddlyWiki keeps them; dates are `YYYYMMDDHHMMSSmmm` in UTC. */
export interface Tiddler {
  readonly title: string
  readonly text?: string
  readonly tags?: readonly string[]
  readonly type?: string
  /** Absent: never. */
  readonly created?: string
  readonly modified?: string
  readonly fields?: Readonly<Record<string, string>>
}

export interface FilterPage {
  readonly titles: readonly string[]
  readonly total: number
}

export interface TagNode {
  readonly title: string
  /** How many pages have it as a tag, also if `children` are cut off by the depth. */
  readonly count: number
  readonly children: readonly TagNode[]
  /** It is its own ancestor, and is not followed further. */
  readonly isCycle?: boolean
}

export interface RenderProblem {
  readonly kind: 'syntax' | 'missing' | 'filter' | 'recursion' | 'script'
  readonly message: string
}

/** One wiki. Every call ends: by itself, with an error at its time limit, or with `signal`. */
export interface Wiki {
  readonly info: WorkspaceInfo
  get(title: string, options?: WikiCall): Promise<Tiddler | undefined>
  /** The titles of a TiddlyWiki filter, by default 1000. Rejects an invalid filter with its problem. */
  filter(
    filter: string,
    options?: WikiCall & { readonly offset?: number; readonly limit?: number },
  ): Promise<FilterPage>
  backlinks(title: string, options?: WikiCall & { readonly limit?: number }): Promise<FilterPage>
  /** The pages that are tagged with `rootTitle`, those tagged with these, and so on: `depth` levels, by default 3. */
  tagTree(rootTitle: string, options?: WikiCall & { readonly depth?: number }): Promise<TagNode>
  /** Newest first, by default 20; without system tiddlers, and without texts. */
  recent(options?: WikiCall & { readonly limit?: number; readonly since?: Date }): Promise<readonly Tiddler[]>
  /** As plain text. Rejects if there is no such tiddler. */
  render(
    title: string,
    options?: WikiCall,
  ): Promise<{ readonly text: string; readonly problems: readonly RenderProblem[] }>
  /** Creates or replaces a tiddler, and sets `modified`, for a new one also `created`. Resolves once it is on the disk. */
  put(tiddler: Tiddler, options?: WikiWrite): Promise<Tiddler>
  /** False if there was none. */
  delete(title: string, options?: WikiWrite): Promise<boolean>
}

export interface WikiCall {
  readonly signal?: AbortSignal
}

export interface WikiWrite extends WikiCall {
  /** Writes only if the page is still as `get` returned it, or with `null` if there is none; else rejects with `PageChanged`. */
  readonly ifSame?: Tiddler | null
}

/** A page has changed since it was read, and was not written. Recognised by its `name`, so that any store can throw it. */
export class PageChanged extends AgentError {
  constructor(title: string) {
    super(`The page ${JSON.stringify(title.slice(0, 200))} was changed by another writer; read it again`)
  }
}
