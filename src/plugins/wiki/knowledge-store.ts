import { AgentError } from '../../core/errors.ts'

/** Wikis by name. */
export interface KnowledgeStore {
  workspaces(): Promise<readonly WorkspaceInfo[]>
  /** Throws a sentence that names those there are. */
  open(workspaceName: string): Promise<Wiki>
  /** Lets go of threads and files. Doing it twice is harmless. */
  close?(): Promise<void>
}

export interface WorkspaceInfo {
  readonly name: string
  /** Where it lies; scripts run there. Absent for a wiki in memory. */
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
  /** How many pages have it as a tag; known also where `children` are cut off by the depth. */
  readonly count: number
  readonly children: readonly TagNode[]
  /** It is its own ancestor; shown once. */
  readonly isCycle?: boolean
}

export interface RenderProblem {
  readonly kind: 'syntax' | 'missing' | 'filter' | 'recursion' | 'script'
  readonly message: string
}

/** One wiki. Every question ends: by itself, by its time limit (then it says so), or with `signal`. */
export interface Wiki {
  readonly info: WorkspaceInfo
  get(title: string, options?: WikiCall): Promise<Tiddler | undefined>
  /** Titles that a filter in TiddlyWiki's own language gives, 1000 unless said otherwise. A filter that is wrong throws what is wrong with it. */
  filter(
    filter: string,
    options?: WikiCall & { readonly offset?: number; readonly limit?: number },
  ): Promise<FilterPage>
  backlinks(title: string, options?: WikiCall & { readonly limit?: number }): Promise<FilterPage>
  /** What is tagged with `rootTitle`, what is tagged with that, and so on: `depth` levels below the root, 3 unless said otherwise. */
  tagTree(rootTitle: string, options?: WikiCall & { readonly depth?: number }): Promise<TagNode>
  /** Newest first, 20 unless said otherwise; no system tiddlers, and none of the texts. */
  recent(options?: WikiCall & { readonly limit?: number; readonly since?: Date }): Promise<readonly Tiddler[]>
  /** As plain text. Throws where there is no such tiddler. */
  render(
    title: string,
    options?: WikiCall,
  ): Promise<{ readonly text: string; readonly problems: readonly RenderProblem[] }>
  /** Creates or replaces. `modified`, and for a new one `created`, are set. Resolves once it is on the disk. */
  put(tiddler: Tiddler, options?: WikiWrite): Promise<Tiddler>
  /** False where there was none. */
  delete(title: string, options?: WikiWrite): Promise<boolean>
}

export interface WikiCall {
  readonly signal?: AbortSignal
}

export interface WikiWrite extends WikiCall {
  /** Only while the page is what `get` gave, or with `null` while there is none; else it fails with `PageChanged`. */
  readonly ifSame?: Tiddler | null
}

/** A page is not what it was, and was left as it is. Known by its `name`, so that any store can say it. */
export class PageChanged extends AgentError {
  constructor(title: string) {
    super(`The page ${JSON.stringify(title.slice(0, 200))} was changed by somebody else; read it again`)
  }
}
