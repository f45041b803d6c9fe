import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { basename, dirname, extname, isAbsolute, join, relative, sep } from 'node:path'
import { AgentError } from '../../../core/errors.ts'
import type { Tiddler } from '../knowledge-store.ts'
import type { BootedWiki } from './boot-wiki.ts'
import type { WikiFile } from './folder-reader.ts'
import { stampOf } from './folder-reader.ts'
import { toTiddler } from './questions.ts'
import type { TwTiddler } from './tiddlywiki-core.ts'

/** The changes of files. The thread only plans them; the caller applies them, if the files have not changed. */
export interface ChangePlan {
  readonly writes: readonly FileWrite[]
  readonly removals: readonly { readonly path: string; readonly stamp: string }[]
  /** The page at the time of planning. */
  readonly before?: Tiddler
  readonly tiddler?: Tiddler
}

export interface FileWrite {
  readonly path: string
  readonly text: string
  readonly encoding: BufferEncoding
  /** The state of the file when it was read; absent: there must be no file. */
  readonly stamp?: string
}

/** Plans to write a tiddler: into its existing file, in the same form, else into a file that TiddlyWiki names. */
export function planPut({ $tw, reader }: BootedWiki, tiddler: Tiddler, now: string): ChangePlan {
  const { title, text, tags, type, created, fields } = tiddler
  const before = presentOf($tw, title)
  const next = new $tw.Tiddler({
    ...fields,
    title,
    ...(text !== undefined && { text }),
    ...(tags !== undefined && { tags }),
    ...(type !== undefined && { type }),
    created: before?.created ?? created ?? now,
    modified: now,
  })
  const holder = reader.filesOf(title).at(-1)
  if (holder) refuseUnread(holder, title)
  const plan = (holder && inPlace({ $tw, reader }, next, holder)) ?? inNewFile({ $tw, reader }, next, holder)
  return { ...plan, tiddler: toTiddler(next), ...(before && { before }) }
}

/** Plans to remove every file with the title, or to write it without the title. */
export function planDelete({ $tw, reader }: BootedWiki, title: string): ChangePlan {
  const holders = reader.filesOf(title)
  const before = presentOf($tw, title)
  for (const holder of holders) refuseUnread(holder, title)
  const parts = holders.map((holder): ChangePlan => {
    if (holder.tiddlers.length === 1 && !holder.isSpecification) return { writes: [], removals: removalsOf(holder) }
    const others = entriesOf(holder, title).filter((entry) => entry.title !== title)
    return { writes: [{ ...existing(holder), text: JSON.stringify(others, null, 4) }], removals: [] }
  })
  return {
    writes: parts.flatMap(({ writes }) => writes),
    removals: parts.flatMap(({ removals }) => removals),
    ...(before && { before }),
  }
}

/** The writer has seen only a note in place of the tiddler, and would overwrite it with that. */
function refuseUnread({ path, isTooLarge }: WikiFile, title: string): void {
  if (!isTooLarge) return
  throw new AgentError(
    `The tiddler ${JSON.stringify(title)} lies in ${path}, which is too large to be read and is not changed; change it by hand`,
  )
}

function presentOf($tw: BootedWiki['$tw'], title: string): Tiddler | undefined {
  const found = $tw.wiki.getTiddler(title)
  return found && toTiddler(found)
}

function inPlace({ $tw, reader }: BootedWiki, next: TwTiddler, holder: WikiFile): ChangePlan | undefined {
  const { title } = next.fields
  if (holder.tiddlers.length > 1 || holder.isSpecification) {
    const entries = entriesOf(holder, title)
    const last = entries.findLastIndex((entry) => entry.title === title)
    const text = JSON.stringify(entries.with(last, next.getFieldStrings()), null, 4)
    return { writes: [{ ...existing(holder), text }], removals: [] }
  }
  const form = formOf(holder)
  const written = form && writtenAs({ $tw, reader }, next, form, holder.path)
  if (!written) return undefined
  return { writes: withStamps(written, holder), removals: [] }
}

type Form = 'tid' | 'json' | 'body'

function formOf({ path, metaStamp, tiddlers }: WikiFile): Form | undefined {
  const extension = extname(path)
  if (extension === '.multids')
    throw new AgentError(`${path} holds several tiddlers line by line, which is not rewritten; change it by hand`)
  if (metaStamp !== undefined) return 'body'
  if (extension === '.tid') return 'tid'
  // Plain JSON data has no title.
  if (extension === '.json' && tiddlers[0]?.title !== path) return 'json'
  return 'body'
}

function inNewFile(wiki: BootedWiki, next: TwTiddler, holder: WikiFile | undefined): ChangePlan {
  for (const { form, path } of namedByTiddlyWiki(wiki, next)) {
    const written = writtenAs(wiki, next, form, path)
    if (written) return { writes: withStamps(written, undefined), removals: holder ? removalsOf(holder) : [] }
  }
  throw new AgentError(
    `The tiddler ${JSON.stringify(next.fields.title)} cannot be written so that TiddlyWiki would read the same again; use plainer fields`,
  )
}

/** The ways to write a tiddler, TiddlyWiki's own first. */
function* namedByTiddlyWiki({ $tw, reader }: BootedWiki, next: TwTiddler): Generator<{ form: Form; path: string }> {
  const { title } = next.fields
  const linesOf = (name: string): string[] | undefined => {
    const lines = $tw.wiki
      .getTiddlerText(name, '')
      .split('\n')
      .filter((line) => line.trim() !== '')
    return lines.length > 0 ? lines : undefined
  }
  const pathFilters = linesOf('$:/config/FileSystemPaths')
  const options = { directory: reader.tiddlers, wiki: $tw.wiki, pathFilters }
  const info = $tw.utils.generateTiddlerFileInfo(next, {
    ...options,
    extFilters: linesOf('$:/config/FileSystemExtensions'),
  })
  const named = (extension: string): string => $tw.utils.generateTiddlerFilepath(title, { ...options, extension })
  const form = formNamed(info)
  // An unknown type gets a name without an extension, which could be any file.
  if (form !== 'body' || $tw.config.contentTypeInfo[info.type])
    yield { form, path: confined(reader.tiddlers, info.filepath, title) }
  if (form !== 'tid') yield { form: 'tid', path: confined(reader.tiddlers, named('.tid'), title) }
  yield { form: 'json', path: confined(reader.tiddlers, named('.json'), title) }
}

function formNamed(info: { readonly type: string; readonly hasMetaFile: boolean }): Form {
  if (info.hasMetaFile) return 'body'
  return info.type === 'application/x-tiddler' ? 'tid' : 'json'
}

const longestName = 200
/** TiddlyWiki does not read these as tiddlers. */
const special = /^(?:tiddlywiki\.(?:files|info)|plugin\.info)$|\.meta$|^CVS$|^\./i

/** Checks that a path is inside the folder, as titles and settings of the wiki influence it. */
function confined(folder: string, path: string, title: string): string {
  const inside = relative(folder, path)
  const isOutside = inside === '' || isAbsolute(inside) || inside.split(sep).includes('..') || /[\0]/.test(inside)
  if (
    isOutside ||
    inside.split(sep).some((part) => special.test(part) || (Buffer.byteLength(part) > 255 && part !== basename(path)))
  )
    throw new AgentError(
      `The tiddler ${JSON.stringify(title.slice(0, 200))} would be written to ${JSON.stringify(inside.slice(0, 200))}, which is no place for tiddlers of this wiki; use another title, or correct $:/config/FileSystemPaths`,
    )
  if (Buffer.byteLength(basename(path)) <= longestName) return path
  return shortened(path, title)
}

/** TiddlyWiki counts characters; file systems count bytes. */
function shortened(path: string, title: string): string {
  const extension = extname(path)
  const digest = createHash('sha256').update(title).digest('hex').slice(0, 12)
  const start = Buffer.from(basename(path, extension))
    .subarray(0, 120)
    .toString()
    .replace(/\ufffd+$/, '')
  for (let count = 0; count < 1000; count++) {
    const name = join(dirname(path), `${start}-${digest}${count > 0 ? `_${count}` : ''}${extension}`)
    if (!existsSync(name)) return name
  }
  throw new AgentError(
    `There is no free file name for the tiddler ${JSON.stringify(title.slice(0, 200))}; use another title`,
  )
}

interface Written {
  readonly path: string
  readonly text: string
  readonly encoding: BufferEncoding
  readonly meta?: string
}

/** The texts of the files, if TiddlyWiki would read the same tiddler from them. */
function writtenAs({ $tw, reader }: BootedWiki, next: TwTiddler, form: Form, path: string): Written | undefined {
  const text = next.fields.text ?? ''
  const block = next.getFieldStringBlock({ exclude: ['text'] })
  const fields = next.getFieldStrings()
  const written = ((): Written => {
    if (form === 'tid') return { path, text: text ? `${block}\n\n${text}` : block, encoding: 'utf8' }
    if (form === 'json') return { path, text: JSON.stringify([fields], null, 4), encoding: 'utf8' }
    const byName = $tw.config.fileExtensionInfo[extname(path)]?.type
    const encoding = (byName && $tw.config.contentTypeInfo[byName]?.encoding) || 'utf8'
    return { path, text, encoding: encoding as BufferEncoding, meta: block }
  })()
  const onDisk = Buffer.from(written.text, written.encoding).toString(written.encoding)
  const again = reader.read({ path, text: onDisk, ...(written.meta !== undefined && { meta: written.meta }) })
  return again.length === 1 && isSame(fields, new $tw.Tiddler(again[0]!).getFieldStrings()) ? written : undefined
}

function isSame(a: Record<string, string>, b: Record<string, string>): boolean {
  const names = [...new Set([...Object.keys(a), ...Object.keys(b)])]
  return names.every((name) => (a[name] ?? '') === (b[name] ?? ''))
}

/** The `.meta` file is written first: alone it is ignored, while the other file alone would be another tiddler. */
function withStamps({ path, text, encoding, meta }: Written, holder: WikiFile | undefined): FileWrite[] {
  const metaStamp = holder ? holder.metaStamp : stampOf(`${path}.meta`)
  return [
    ...(meta === undefined
      ? []
      : [{ path: `${path}.meta`, text: meta, encoding: 'utf8' as const, ...(metaStamp && { stamp: metaStamp }) }]),
    { path, text, encoding, ...(holder && { stamp: holder.stamp }) },
  ]
}

const existing = ({ path, stamp }: WikiFile): Omit<FileWrite, 'text'> => ({ path, stamp, encoding: 'utf8' })

function removalsOf({ path, stamp, metaStamp, isSpecification }: WikiFile): ChangePlan['removals'] {
  if (isSpecification) return []
  return [{ path, stamp }, ...(metaStamp === undefined ? [] : [{ path: `${path}.meta`, stamp: metaStamp }])]
}

/** All tiddlers of a file, as they are written, so that the others stay the same. */
function entriesOf(holder: WikiFile, title: string): Record<string, string>[] {
  const isJson = extname(holder.path) === '.json' && holder.metaStamp === undefined
  if (!isJson || holder.isSpecification)
    throw new AgentError(
      `The tiddler ${JSON.stringify(title)} lies in ${holder.path} with others, in a form that is not rewritten; change it by hand`,
    )
  return JSON.parse(readFileSync(holder.path, 'utf8')) as Record<string, string>[]
}
