import { type Dirent, existsSync, lstatSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { AgentError, codeOf } from '../../../core/errors.ts'
import { type Fields, type TiddlyWikiCore, thrownText } from './tiddlywiki-core.ts'

/** Updates a booted wiki from the files in its folder. */
export interface FolderReader {
  /** The folder of the tiddlers. */
  readonly tiddlers: string
  /** Loads the files that changed since the last time. */
  refresh(): void
  /** The files that have a title. The wiki shows the last one. */
  filesOf(title: string): readonly WikiFile[]
  /** The tiddlers that TiddlyWiki would read from this text in a file of that name. */
  read(file: { readonly path: string; readonly text: string; readonly meta?: string }): readonly Fields[]
}

/** A file as it was when it was read. */
export interface WikiFile {
  readonly path: string
  readonly stamp: string
  readonly metaStamp: string | undefined
  readonly tiddlers: readonly Fields[]
  /** It names other files, and is not written. */
  readonly isSpecification: boolean
  /** It was not read; its tiddler is only a note about that. */
  readonly isTooLarge: boolean
}

interface FolderReaderOptions {
  readonly $tw: TiddlyWikiCore
  readonly folder: string
  /** Those that TiddlyWiki uses at boot. */
  readonly deserializers: object
  /** Follows `tiddlywiki.files`, which may name any file of this machine. */
  readonly isTrusted: boolean
}

export function folderReader({ $tw, folder, deserializers, isTrusted }: FolderReaderOptions): FolderReader {
  const tiddlers = join(folder, 'tiddlers')
  let files = new Map<string, WikiFile>()
  let byTitle = new Map<string, WikiFile[]>()

  const load = (path: string, stamp: string, metaStamp: string | undefined): WikiFile => {
    const isSpecification = path.endsWith(specification)
    const isTooLarge = statSync(path).size > largestFile
    if (isTooLarge) return { path, stamp, metaStamp, tiddlers: [noteOf($tw, path)], isSpecification, isTooLarge }
    const loaded = asAtBoot($tw, deserializers, () =>
      isSpecification
        ? $tw.loadTiddlersFromSpecification(path.slice(0, -specification.length - 1)).flatMap((one) => one.tiddlers)
        : $tw.loadTiddlersFromFile(path, { title: path }).tiddlers,
    )
    return { path, stamp, metaStamp, tiddlers: loaded.filter(({ title }) => title), isSpecification, isTooLarge }
  }

  return {
    tiddlers,
    refresh() {
      if (!existsSync(join(folder, 'tiddlywiki.info')))
        throw new AgentError(`The folder ${folder} is no wiki any more: its tiddlywiki.info is gone; put it back`)
      const found = new Map<string, WikiFile>()
      const touched = new Set<string>()
      for (const { path, hasMeta } of pathsIn(tiddlers, $tw.boot.excludeRegExp, isTrusted)) {
        const stamp = stampOf(path)
        const metaStamp = hasMeta ? stampOf(`${path}.meta`) : undefined
        const known = files.get(path)
        if (stamp === undefined) continue
        if (known?.stamp === stamp && known.metaStamp === metaStamp) {
          found.set(path, known)
          continue
        }
        const file = loadIfThere(path, () => load(path, stamp, metaStamp))
        if (!file) continue
        found.set(path, file)
        for (const { title } of file.tiddlers) touched.add(title!)
      }
      for (const [path, file] of files)
        if (found.get(path) !== file) for (const { title } of file.tiddlers) touched.add(title!)
      files = found
      if (touched.size === 0) return
      byTitle = titlesOf(found.values())
      for (const title of touched) {
        const fields = byTitle
          .get(title)
          ?.at(-1)
          ?.tiddlers.findLast((one) => one.title === title)
        if (fields) $tw.wiki.addTiddler(new $tw.Tiddler(fields))
        else $tw.wiki.deleteTiddler(title)
      }
    },
    filesOf: (title) => byTitle.get(title) ?? [],
    read: ({ path, text, meta }) =>
      asAtBoot($tw, deserializers, () => {
        const extension = /\.[^./\\]*$/.exec(path)?.[0] ?? ''
        const plain = $tw.wiki.deserializeTiddlers(extension, text, { title: path })
        if (meta === undefined) return plain
        const first = extension === '.json' ? { text, type: 'application/json' } : plain[0]
        return [{ ...first, ...$tw.utils.parseFields(meta) }]
      }),
  }
}

/** Newer versions of TiddlyWiki do the same with files of 100 MiB. */
function noteOf($tw: TiddlyWikiCore, path: string): Fields {
  const text = `The file ${path} is not shown: it is larger than ${largestFile / 1024 / 1024} MiB`
  return { title: path, type: 'text/plain', text, ...$tw.loadMetadataForFile(path) }
}

const largestFile = 32 * 1024 * 1024
const specification = 'tiddlywiki.files'
const mostFiles = 100_000
const deepest = 30

interface FoundFile {
  readonly path: string
  readonly hasMeta: boolean
}

/** Every file that TiddlyWiki would load, in a fixed order, without links. */
function pathsIn(top: string, excluded: RegExp, isTrusted: boolean): FoundFile[] {
  const paths: FoundFile[] = []
  const walk = (folder: string, depth: number): void => {
    const entries = entriesOf(folder)
    if (entries.some(({ name }) => name === specification)) {
      const path = join(folder, specification)
      if (isTrusted) paths.push({ path, hasMeta: false })
      else
        throw new AgentError(
          `${path} names files from elsewhere, which is not followed; take it away, or set loadPlugins for a wiki you trust`,
        )
      return
    }
    const names = new Set(entries.map(({ name }) => name))
    for (const entry of entries) {
      if (excluded.test(entry.name) || entry.name === 'plugin.info') continue
      const path = join(folder, entry.name)
      if (entry.isDirectory() && depth < deepest) walk(path, depth + 1)
      if (entry.isFile()) paths.push({ path, hasMeta: names.has(`${entry.name}.meta`) })
      if (paths.length > mostFiles) throw new AgentError(`${top} has more than ${mostFiles} files; use a smaller wiki`)
    }
  }
  walk(top, 0)
  return paths
}

function entriesOf(folder: string): Dirent[] {
  try {
    if (lstatSync(folder).isSymbolicLink())
      throw new AgentError(`${folder} is a link, which is not followed; put the folder itself there`)
    return readdirSync(folder, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1))
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return []
    throw error
  }
}

function loadIfThere(path: string, load: () => WikiFile): WikiFile | undefined {
  try {
    return load()
  } catch (cause) {
    if (codeOf(cause) === 'ENOENT') return undefined
    throw new AgentError(`${path} cannot be read as a tiddler: ${thrownText(cause)}; correct or remove it`, {
      cause,
    })
  }
}

function titlesOf(files: Iterable<WikiFile>): Map<string, WikiFile[]> {
  const byTitle = new Map<string, WikiFile[]>()
  for (const file of files) {
    for (const title of new Set(file.tiddlers.map((one) => one.title!))) {
      const holders = byTitle.get(title)
      if (holders) holders.push(file)
      else byTitle.set(title, [file])
    }
  }
  return byTitle
}

function asAtBoot<T>($tw: TiddlyWikiCore, deserializers: object, work: () => T): T {
  const now = $tw.Wiki.tiddlerDeserializerModules
  $tw.Wiki.tiddlerDeserializerModules = deserializers
  try {
    return work()
  } finally {
    $tw.Wiki.tiddlerDeserializerModules = now
  }
}

/** Identifies the state of a file, or of a link itself; undefined if there is no file. */
export function stampOf(path: string): string | undefined {
  try {
    const { ino, size, mtimeNs, ctimeNs, mode } = lstatSync(path, { bigint: true })
    return `${ino}:${size}:${mtimeNs}:${ctimeNs}:${mode}`
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return undefined
    throw error
  }
}
