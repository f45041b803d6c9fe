import { opendir, realpath, stat } from 'node:fs/promises'
import { basename, extname, join, resolve } from 'node:path'
import type { ToolOrigin } from '../core/authority.ts'
import { show } from '../core/behavior.ts'
import { codeOf, messageOf } from '../core/errors.ts'
import { checkedAs, isRecord } from '../core/is-record.ts'
import type { JsonSchema } from '../core/tool.ts'
import { isWithin, readInside, readingBudget, type SourceFiles, sourceFiles } from '../platform/source-files.ts'
import { fullyVisible } from '../platform/visible-text.ts'
import type { Versions } from './load-tool.ts'
import { problemOf } from './problem-of.ts'

/** The layers with tools in files. */
export type Layer = Extract<ToolOrigin['layer'], 'bundled' | 'global' | 'project'>

/** A file that may be a tool. None of its code has run. */
export interface FoundTool extends SourceFiles {
  readonly layer: Layer
  readonly path: string
  /** Its name before it is loaded: from its manifest, else from its file. */
  readonly id: string
  readonly manifest?: Manifest
  rehash(): Promise<SourceFiles>
}

interface Unusable {
  readonly layer: Layer
  readonly path: string
  readonly id: string
  readonly problem: string
}

/** An entry in a tool folder. */
export type Found = FoundTool | Unusable

const mostEntries = 500

/**
 * Lists the tools in `<root>/<folder>`: modules, and folders with a `tool.json`. Their files may lie anywhere in `root`.
 * Sorted by name.
 */
export async function discover(layer: Layer, root: string, folder: string): Promise<Found[]> {
  const found: Found[] = []
  const path = join(root, folder)
  try {
    const [realRoot, real] = [await realpath(root), await realpath(path)]
    for (const name of await namesIn(real)) {
      const item = await inspectEntry(layer, realRoot, join(real, name), name)
      if (item) found.push(item)
    }
  } catch (error) {
    if (codeOf(error) !== 'ENOENT')
      found.push({ layer, path, id: basename(path), problem: `it cannot be read: ${problemOf(error)}` })
  }
  return found
}

/** The sorted names in a folder. Throws if there are too many. */
async function namesIn(folder: string): Promise<readonly string[]> {
  const names: string[] = []
  for await (const { name } of await opendir(folder)) {
    if (names.length === mostEntries) throw new Error(`there are more than ${mostEntries} entries in it`)
    names.push(name)
  }
  return names.filter((name) => !name.startsWith('.')).sort()
}

async function inspectEntry(layer: Layer, root: string, path: string, name: string): Promise<Found | undefined> {
  const id = fullyVisible(basename(name, extname(name)))
  try {
    const real = await realpath(path)
    const isFolder = (await stat(real)).isDirectory()
    if (!isFolder && !isModule(name)) return undefined
    const read = isFolder ? await readManifest(root, real) : undefined
    if (isFolder && !read) return undefined // a folder of shared modules
    const hash = () => sourceFiles(root, real, readingBudget({ files: 1000, mebibytes: 4 }))
    const files = await hash()
    if (!read) return { layer, path: real, id, rehash: hash, ...files }
    const { manifest, digest } = read
    if (![...files.files.values()].includes(digest)) throw new Error('its tool.json changed while it was read')
    const main = await realpath(resolve(real, manifest.main))
    if (!files.files.has(main)) throw new Error(`"main" in its tool.json is no file of its own: ${manifest.main}`)
    return { layer, path: main, id: fullyVisible(manifest.id), manifest, rehash: hash, ...files }
  } catch (error) {
    return { layer, path, id, problem: problemOf(error) }
  }
}

const isModule = (name: string): boolean => /\.m?[jt]s$/.test(name) && !/\.d\.m?ts$/.test(name)

/** The `tool.json` of a tool folder: facts needed before its code runs. */
interface Manifest extends Versions {
  readonly id: string
  readonly category: 'Tool'
  readonly configSchema?: JsonSchema
  readonly config?: Readonly<Record<string, unknown>>
  readonly main: string
}

/** Reads a manifest; undefined if there is none. Throws if it is invalid, naming the field. The digest is that of its file. */
async function readManifest(
  root: string,
  folder: string,
): Promise<{ readonly manifest: Manifest; readonly digest: string } | undefined> {
  const path = join(folder, 'tool.json')
  const file = await readInside(root, path, readingBudget({ mebibytes: 1 })).catch((error) => {
    if (codeOf(error) !== 'ENOENT') throw error
  })
  if (!file) return undefined
  const manifest = parse(file.text)
  for (const field of ['id', 'contractVersion', 'requiredCoreVersion', 'main'])
    if (typeof manifest[field] !== 'string' || manifest[field] === '')
      throw new Error(`its tool.json must say "${field}" as a text, got ${show(manifest[field])}`)
  if (manifest.category !== 'Tool')
    throw new Error(`its tool.json must say "category": "Tool", got ${show(manifest.category)}`)
  for (const field of ['configSchema', 'config'])
    if (manifest[field] !== undefined && !isRecord(manifest[field]))
      throw new Error(`"${field}" in its tool.json must be an object, got ${show(manifest[field])}`)
  const checked = checkedAs<Manifest>(manifest)
  const { main } = checked
  if (!isWithin(folder, resolve(folder, main)))
    throw new Error(`"main" in its tool.json leads out of its folder: ${show(main)}`)
  return { manifest: checked, digest: file.digest }
}

function parse(text: string): Record<string, unknown> {
  let manifest: unknown
  try {
    manifest = JSON.parse(text)
  } catch (error) {
    throw new Error(`its tool.json is no JSON: ${messageOf(error)}`)
  }
  if (!isRecord(manifest)) throw new Error(`its tool.json must hold an object, got ${show(manifest)}`)
  return manifest
}
