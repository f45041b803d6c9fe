import { readdir, realpath, stat } from 'node:fs/promises'
import { basename, extname, join, resolve } from 'node:path'
import type { ToolOrigin } from '../core/authority.ts'
import { messageOf } from '../core/errors.ts'
import { codeOf } from '../platform/files.ts'
import { type Manifest, readManifest } from './manifest.ts'
import { filesOfFolder, filesOfModule, isWithin, type SourceFiles } from './source-files.ts'

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
}

/** Something that lies where tools lie and cannot be one. */
export interface Unusable {
  readonly layer: Layer
  readonly path: string
  readonly id: string
  readonly problem: string
}

export type Found = FoundTool | Unusable

/** Looks through a folder of tools: modules, and folders with a `tool.json`. The order in which it lies there is lost. */
export async function discover(layer: Layer, folder: string): Promise<Found[]> {
  const found: Found[] = []
  try {
    const root = await realpath(folder)
    for (const name of (await readdir(root)).sort()) {
      const item = await look(layer, root, name)
      if (item) found.push(item)
    }
  } catch (error) {
    if (codeOf(error) !== 'ENOENT')
      found.push({ layer, path: folder, id: basename(folder), problem: `it cannot be read: ${messageOf(error)}` })
  }
  return found
}

async function look(layer: Layer, root: string, name: string): Promise<Found | undefined> {
  if (name.startsWith('.')) return undefined
  const path = join(root, name)
  const id = basename(name, extname(name))
  try {
    const real = await realpath(path)
    const isFolder = (await stat(real)).isDirectory()
    if (!isFolder && !isModule(name)) return undefined
    if (!isWithin(root, real)) throw new Error(`it is a link out of the folder, to ${real}; copy it here instead`)
    if (!isFolder) return { layer, path: real, id, ...(await filesOfModule(real, root)) }
    const manifest = await readManifest(real)
    if (!manifest) return undefined // what modules share may lie in folders of its own
    const files = await filesOfFolder(real)
    return { layer, path: resolve(real, manifest.main), id: manifest.id, manifest, ...files }
  } catch (error) {
    return { layer, path, id, problem: messageOf(error) }
  }
}

const isModule = (name: string): boolean => /\.m?[jt]s$/.test(name) && !/\.d\.m?ts$/.test(name)
