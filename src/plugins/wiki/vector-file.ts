import { lstat, mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import { codeOf } from '../../core/errors.ts'
import { isRecord } from '../../core/is-record.ts'
import { digestOf } from '../../platform/digest.ts'
import { writeFileAtomic } from '../../platform/files.ts'
import { readSmallText } from '../../platform/read-small-text.ts'
import type { Tiddler } from './knowledge-store.ts'

/** The vectors of one page, and the digest of its text. */
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
/** The most pieces of one page. */
export const mostPieces = 16

/** The same for the same title and text. */
export const pageDigest = ({ title, text = '' }: Tiddler): string => digestOf(JSON.stringify([title, text]))

/** The vectors of a file for this model; undefined if there is no usable file. They can be computed again. */
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

/** Returns whether the file was written. Does not write through links, as a wiki may come from others. */
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
    return false // the disk is full, or the file is not writable; the vectors stay in memory
  }
}

/** A link could still be created between this check and the write, but only by a process that can write there itself. */
async function isOwnFolder(file: string): Promise<boolean> {
  return (await lstat(dirname(file))).isDirectory()
}

/** Undefined for a foreign format, or for vectors of another model. */
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

/** Little-endian on every machine. */
function encoded(vector: Float32Array): string {
  const bytes = Buffer.alloc(vector.length * 4)
  for (const [i, value] of vector.entries()) bytes.writeFloatLE(value, i * 4)
  return bytes.toString('base64')
}

function decoded(part: string, dimension: number): Float32Array | undefined {
  const bytes = Buffer.from(part, 'base64')
  if (bytes.length !== dimension * 4) return undefined
  const vector = Float32Array.from({ length: dimension }, (_, i) => bytes.readFloatLE(i * 4))
  // In a forged file, a vector longer than 1 would win every search.
  const length = vector.reduce((sum, value) => sum + value * value, 0)
  return length <= 1.001 ? vector : undefined
}
