/** The parts of TiddlyWiki that are used here, only inside the thread. */
export interface TiddlyWikiCore {
  readonly boot: {
    argv: string[]
    disabledStartupModules?: string[]
    excludeRegExp: RegExp
    wikiPath?: string
    wikiTiddlersPath?: string
    boot(callback: () => void): void
  }
  readonly config: {
    readonly contentTypeInfo: Readonly<
      Record<string, { readonly encoding: string; readonly extension: string | string[] } | undefined>
    >
    readonly fileExtensionInfo: Readonly<Record<string, { readonly type: string } | undefined>>
    readonly pluginsPath: string
    readonly themesPath: string
    readonly languagesPath: string
  }
  readonly language: { getString(name: string): string }
  readonly utils: {
    error(problem: unknown): void
    parseFields(text: string): Fields
    generateTiddlerFileInfo(
      tiddler: TwTiddler,
      options: object,
    ): { readonly filepath: string; readonly type: string; readonly hasMetaFile: boolean }
    generateTiddlerFilepath(title: string, options: object): string
    readonly TranscludeRecursionError?: new () => unknown
  }
  readonly fakeDocument: { createElement(tag: string): FakeNode }
  readonly Tiddler: new (...fields: object[]) => TwTiddler
  readonly Wiki: { tiddlerDeserializerModules: object }
  readonly wiki: TwWiki
  loadWikiTiddlers(path: string, options?: object): unknown
  loadTiddlersFromFile(path: string, fields: Fields): TwFile
  loadMetadataForFile(path: string): Fields | null
  loadTiddlersFromSpecification(path: string): readonly { readonly tiddlers: readonly Fields[] }[]
  loadPlugins(names: unknown, libraryPath: string): void
  loadPluginFolder(path: string): Fields | null
}

/** The fields of a tiddler as they are read from a file. */
export type Fields = Readonly<Record<string, string>>

interface TwFile {
  readonly type: string | null
  readonly tiddlers: readonly Fields[]
  readonly hasMetaFile: boolean
}

export interface TwTiddler {
  readonly fields: Readonly<Record<string, unknown>> & {
    readonly title: string
    readonly text?: string
    readonly tags?: readonly string[]
  }
  getFieldStrings(): Record<string, string>
  getFieldStringBlock(options: { readonly exclude: readonly string[] }): string
}

interface TwWiki {
  addTiddler(tiddler: TwTiddler | Fields): void
  deleteTiddler(title: string): void
  getTiddler(title: string): TwTiddler | undefined
  tiddlerExists(title: string): boolean
  isShadowTiddler(title: string): boolean
  getTiddlerText(title: string, usual: string): string
  getTiddlersWithTag(tag: string): string[]
  getTiddlerBacklinks(title: string): string[]
  deserializeTiddlers(type: string, text: string, fields: Fields): Fields[]
  compileFilter(filter: string): (...args: unknown[]) => string[]
  filterTiddlers(filter: string): string[]
  makeTranscludeWidget(title: string, options: object): TwWidget
  parseText(type: string, text: string): object
  makeWidget(parser: object, options: object): TwWidget
  dispatchEvent(type: string, ...args: unknown[]): void
}

export interface TwWidget {
  readonly children?: readonly TwWidget[]
  readonly parseTreeNode?: {
    readonly type?: string
    readonly text?: string
    readonly start?: number
    readonly children?: readonly unknown[]
  }
  readonly transcludeTitle?: string
  readonly transcludeVariable?: string
  getVariableInfo(name: string, options: object): { readonly text?: string; readonly srcVariable?: unknown }
  render(parent: FakeNode, next: null): void
}

export interface FakeNode {
  readonly nodeType: number
  readonly tag?: string
  readonly className?: string
  readonly attributes?: Readonly<Record<string, string>>
  readonly textContent: string
  readonly children: readonly FakeNode[]
}

/** The text of a thrown value. TiddlyWiki throws texts too, and errors of another realm, which are no `Error` here. */
export function thrownText(thrown: unknown): string {
  if (typeof thrown !== 'object' || thrown === null) return String(thrown)
  const { name, message } = thrown as { readonly name?: unknown; readonly message?: unknown }
  return [name, message].filter((part) => typeof part === 'string' && part !== '').join(': ') || 'something went wrong'
}
