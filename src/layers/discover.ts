import { opendir, realpath, stat } from 'node:fs/promises'
import { basename, extname, join, resolve } from 'node:path'
import type { ToolOrigin } from '../core/authority.ts'
import { codeOf } from '../core/errors.ts'
import { readingBudget, type SourceFiles, sourceFiles } from '../platform/source-files.ts'
import { fullyVisible } from '../platform/visible-text.ts'
import { type Manifest, readManifest } from './manifest.ts'
import { problemOf } from './problem-of.ts'

/** The layers that tools in files can lie in. */
export type Layer = Extract<ToolOrigin['layer'], 'bundled' | 'global' | 'project'>

/** A file that may be a tool. Nothing of it has run yet. */
export interface FoundTool extends SourceFiles {
  readonly layer: Layer
  /** The module to load. */
  readonly path: string
  /** What it is called before it can say so itself: by its manifest, else by its file. */
  readonly id: string
  readonly manifest?: Manifest
  /** Hashes its files as they are now. */
  rehash(): Promise<SourceFiles>
}

/** Something that lies where tools lie and cannot be one. */
interface Unusable {
  readonly layer: Layer
  readonly path: string
  readonly id: string
  readonly problem: string
}

/** Whatever lies where tools lie. */
export type Found = FoundTool | Unusable

const mostEntries = 500

/**
 * Looks through `<root>/<folder>`: modules, and folders with a `tool.json`. What they are made of may lie anywhere in
 * `root`. The order in which it lies there is lost.
 */
export async function discover(layer: Layer, root: string, folder: string): Promise<Found[]> {
  const found: Found[] = []
  const path = join(root, folder)
  try {
    const [realRoot, real] = [await realpath(root), await realpath(path)]
    for (const name of await namesIn(real)) {
      const item = await inspectEntry({ layer, root: realRoot, path: join(real, name) }, name)
      if (item) found.push(item)
    }
  } catch (error) {
    if (codeOf(error) !== 'ENOENT')
      found.push({ layer, path, id: basename(path), problem: `it cannot be read: ${problemOf(error)}` })
  }
  return found
}

/** Too many of them are nobody's choice. */
async function namesIn(folder: string): Promise<readonly string[]> {
  const names: string[] = []
  for await (const { name } of await opendir(folder)) {
    if (names.length === mostEntries) throw new Error(`there are more than ${mostEntries} entries in it`)
    names.push(name)
  }
  return names.filter((name) => !name.startsWith('.')).sort()
}

interface Place {
  readonly layer: Layer
  readonly root: string
  readonly path: string
}

async function inspectEntry({ layer, root, path }: Place, name: string): Promise<Found | undefined> {
  const id = fullyVisible(basename(name, extname(name)))
  try {
    const real = await realpath(path)
    const isFolder = (await stat(real)).isDirectory()
    if (!isFolder && !isModule(name)) return undefined
    const read = isFolder ? await readManifest(root, real) : undefined
    if (isFolder && !read) return undefined // what modules share may lie in folders of its own
    const hash = () => sourceFiles(root, real, readingBudget({ files: 1000, mebibytes: 4 }))
    const files = await hash()
    if (!read) return { layer, path: real, id, rehash: hash, ...files }
    const { manifest, digest } = read
    if (![...files.files.values()].includes(digest)) throw new Error('its tool.json changed while it was looked at')
    const main = await realpath(resolve(real, manifest.main))
    if (!files.files.has(main)) throw new Error(`"main" in its tool.json is no file of its own: ${manifest.main}`)
    return { layer, path: main, id: fullyVisible(manifest.id), manifest, rehash: hash, ...files }
  } catch (error) {
    return { layer, path, id, problem: problemOf(error) }
  }
}

const isModule = (name: string): boolean => /\.m?[jt]s$/.test(name) && !/\.d\.m?ts$/.test(name)
