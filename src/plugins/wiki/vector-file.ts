import { lstat, mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import { codeOf } from '../../core/errors.ts'
import { isRecord } from '../../core/is-record.ts'
import { digestOf } from '../../platform/digest.ts'
import { writeFileAtomic } from '../../platform/files.ts'
import { readSmallText } from '../../platform/read-small-text.ts'
import type { Tiddler } from './knowledge-store.ts'

/** The vectors of one page, and of which text they are. */
export interface PageVectors {
  readonly digest: string
  readonly vectors: readonly Float32Array[]
}

export interface StoredVectors {
  readonly model: string
  readonly dimension: number
  readonly pages: Map<string, PageVectors>
}

const version = 1
const mostBytes = 256 * 1024 * 1024
const mostPages = 100_000
/** Of one page. */
export const mostPieces = 16

/** What a page says, in short: the same for the same title and text. */
export const pageDigest = ({ title, text = '' }: Tiddler): string => digestOf(JSON.stringify([title, text]))

/** What the file holds for this model; undefined where there is none, or one that cannot be used. It is only a copy. */
export async function readVectors(file: string, model: string): Promise<StoredVectors | undefined> {
  const unusable = new Error('unusable')
  try {
    if (!(await isOwnFolder(file))) return undefined
    const text = await readSmallText(file, { mostBytes, links: 'refused', refuse: () => unusable })
    return text === undefined ? undefined : parsed(JSON.parse(text), model)
  } catch (error) {
    if (error === unusable || error instanceof SyntaxError || codeOf(error) !== undefined) return undefined
    throw error
  }
}

/** Says whether it was written. A wiki may come from anywhere: where a link leads out of it nothing is written. */
export async function writeVectors(file: string, { model, dimension, pages }: StoredVectors): Promise<boolean> {
  const entries = [...pages].map(([title, { digest, vectors }]) => [title, digest, ...vectors.map(encoded)])
  const size = entries.reduce((sum, entry) => sum + entry.reduce((length, part) => length + part.length, 16), 0)
  if (size > mostBytes) return false
  try {
    await mkdir(dirname(file), { mode: 0o700 }).catch((error) => {
      if (codeOf(error) !== 'EEXIST') throw error
    })
    if (!(await isOwnFolder(file))) return false
    await writeFileAtomic(file, JSON.stringify({ version, model, dimension, pages: entries }))
    return true
  } catch {
    return false // no room, or not ours to write; the vectors are there all the same, for as long as we live
  }
}

/** Somebody may still put a link there between this look and the write; he could then write there himself. */
async function isOwnFolder(file: string): Promise<boolean> {
  return (await lstat(dirname(file))).isDirectory()
}

/** Undefined for whatever we did not write, or wrote for another model. */
function parsed(value: unknown, model: string): StoredVectors | undefined {
  if (!isRecord(value) || value.version !== version || value.model !== model) return undefined
  const { dimension, pages } = value
  if (!Number.isInteger(dimension) || (dimension as number) < 1 || !Array.isArray(pages)) return undefined
  if (pages.length > mostPages) return undefined
  const found = new Map<string, PageVectors>()
  for (const entry of pages) {
    if (!Array.isArray(entry) || entry.length < 3 || !entry.every((part) => typeof part === 'string')) return undefined
    const [title, digest, ...parts] = entry as [string, string, ...string[]]
    if (parts.length > mostPieces) return undefined
    const vectors = parts.map((part) => decoded(part, dimension as number))
    if (vectors.includes(undefined)) return undefined
    found.set(title, { digest, vectors: vectors as Float32Array[] })
  }
  return { model, dimension: dimension as number, pages: found }
}

/** Little-endian, whatever the machine. */
function encoded(vector: Float32Array): string {
  const bytes = Buffer.alloc(vector.length * 4)
  for (const [i, value] of vector.entries()) bytes.writeFloatLE(value, i * 4)
  return bytes.toString('base64')
}

function decoded(part: string, dimension: number): Float32Array | undefined {
  const bytes = Buffer.from(part, 'base64')
  if (bytes.length !== dimension * 4) return undefined
  const vector = Float32Array.from({ length: dimension }, (_, i) => bytes.readFloatLE(i * 4))
  // A file may be made by anybody: a vector longer than 1 would win every search.
  const length = vector.reduce((sum, value) => sum + value * value, 0)
  return length <= 1.001 ? vector : undefined
}
