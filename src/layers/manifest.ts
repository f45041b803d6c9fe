import { join, resolve } from 'node:path'
import { show } from '../core/behavior.ts'
import { codeOf, messageOf } from '../core/errors.ts'
import { isRecord } from '../core/is-record.ts'
import type { JsonSchema } from '../core/tool.ts'
import { isWithin, readInside, readingBudget } from '../platform/source-files.ts'
import type { Versions } from './version-problem.ts'

/** The `tool.json` of a tool that is a folder: what has to be known before any of it runs. */
export interface Manifest extends Versions {
  readonly id: string
  readonly category: 'Tool'
  readonly configSchema?: JsonSchema
  readonly config?: Readonly<Record<string, unknown>>
  /** The module to load, inside the folder. */
  readonly main: string
}

/** Undefined where a folder has none. Throws when it is wrong, naming the field. The digest is that of its file. */
export async function readManifest(
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
  const { main } = manifest as unknown as Manifest
  if (!isWithin(folder, resolve(folder, main)))
    throw new Error(`"main" in its tool.json leads out of its folder: ${show(main)}`)
  return { manifest: manifest as unknown as Manifest, digest: file.digest }
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
