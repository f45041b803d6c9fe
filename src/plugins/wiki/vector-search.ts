import { join } from 'node:path'
import { orAborted } from '../../core/waiting.ts'
import { runSerially } from '../../tools/serial-queue.ts'
import type { Tiddler, Wiki } from './knowledge-store.ts'
import { hasText } from './tools/page-text.ts'
import {
  mostPieces,
  type PageVectors,
  pageDigest,
  readVectors,
  type StoredVectors,
  writeVectors,
} from './vector-file.ts'

/** Turns texts into vectors, one for each. `model` names the model: vectors of another name are not reused. */
export interface Embed {
  (texts: readonly string[], signal: AbortSignal): Promise<readonly (readonly number[])[]>
  readonly model?: string
}

type VectorIndex = ReturnType<typeof createVectorIndex>

/** One index for each wiki. */
export interface VectorIndexes {
  of(wiki: Wiki, embed: Embed): VectorIndex
}

/** Keeps the index of each wiki, in memory and in `<folder>/.libero/vectors.json`. */
export function createVectorIndexes(): VectorIndexes {
  const known = new Map<
    string,
    { readonly embed: Embed; readonly folder: string | undefined; readonly index: VectorIndex }
  >()
  return {
    of(wiki, embed) {
      const { name, folder } = wiki.info
      const before = known.get(name)
      if (before?.embed === embed && before.folder === folder) return before.index
      const file = folder === undefined ? undefined : join(folder, '.libero', 'vectors.json')
      const index = createVectorIndex({ wiki, embed, ...(file !== undefined && { file }) })
      known.set(name, { embed, folder, index })
      return index
    },
  }
}

const batchSize = 64
/** A page is embedded in pieces; its best piece counts. */
const pieceLength = 4000
const longestQuery = 4000

/** An index of the pages of a wiki that have text, without system pages. */
export function createVectorIndex({
  wiki,
  embed,
  file,
  mostPages = 5000,
}: {
  readonly wiki: Wiki
  readonly embed: Embed
  /** The file for the vectors. Default: only in memory. */
  readonly file?: string
  /** More pages than this are left out. Default 5000. */
  readonly mostPages?: number
}): {
  /** Returns the best matches first. Embeds the pages that changed since the last search. */
  search(
    query: string,
    options?: {
      /** Default 10. */
      readonly limit?: number
      /** Cosine similarity, -1 to 1. Default 0.7. */
      readonly threshold?: number
      readonly signal?: AbortSignal
    },
  ): Promise<{
    readonly matches: readonly { readonly title: string; readonly score: number }[]
    /** The best score, if all are below the threshold. */
    readonly best?: number
    /** How many pages were compared. */
    readonly pages: number
    /** How many pages were left out because of `mostPages`. */
    readonly leftOut: number
  }>
} {
  const model = embed.model ?? 'default'
  let stored: StoredVectors | undefined

  return {
    search(query, { limit = 10, threshold = 0.7, signal = AbortSignal.any([]) } = {}) {
      // Two searches at the same time would embed the same pages twice.
      return runSerially(embed, `${wiki.info.name} ${wiki.info.folder}`, signal, async () => {
        const [wanted] = await vectorsOf([query.slice(0, longestQuery).toWellFormed()], embed, signal)
        const dimension = wanted!.length
        stored ??= file === undefined ? undefined : await readVectors(file, model)
        // Vectors of another length come from another model of the same name.
        if (stored?.dimension !== dimension) stored = { model, dimension, pages: new Map() }
        const current = await refresh(stored.pages, dimension, signal)
        const scored = [...stored.pages].map(([title, { vectors }]) => ({ title, score: bestOf(vectors, wanted!) }))
        scored.sort((a, b) => b.score - a.score || (a.title < b.title ? -1 : 1))
        const matches = scored.filter(({ score }) => score >= threshold).slice(0, limit)
        const best = matches.length === 0 ? scored[0]?.score : undefined
        return { matches, ...(best !== undefined && { best }), pages: scored.length, leftOut: current.leftOut }
      })
    },
  }

  /** Updates the vectors. If it is stopped, the pages that were embedded are kept. */
  async function refresh(
    pages: Map<string, PageVectors>,
    dimension: number,
    signal: AbortSignal,
  ): Promise<{ leftOut: number }> {
    const { titles, total } = await wiki.filter('[!is[system]sort[title]]', { signal, limit: mostPages })
    const fresh: Piece[] = []
    const present = new Set<string>()
    for (const title of titles.slice(0, mostPages)) {
      const page = await wiki.get(title, { signal })
      if (!page || !hasText(page) || !page.text?.trim()) continue
      present.add(title)
      const digest = pageDigest(page)
      if (pages.get(title)?.digest !== digest) fresh.push({ title, digest, texts: piecesOf(page) })
    }
    let changes = 0
    for (const title of pages.keys()) if (!present.has(title) && pages.delete(title)) changes++
    try {
      for (const batch of batchesOf(fresh)) {
        const vectors = await vectorsOf(
          batch.flatMap(({ texts }) => texts),
          embed,
          signal,
          dimension,
        )
        let at = 0
        for (const { title, digest, texts } of batch) {
          pages.set(title, { digest, vectors: vectors.slice(at, (at += texts.length)) })
          changes++
        }
      }
    } finally {
      if (changes > 0 && file !== undefined && !wiki.info.isReadOnly)
        await writeVectors(file, { model, dimension, pages })
    }
    return { leftOut: Math.max(0, total - titles.length) }
  }
}

interface Piece {
  readonly title: string
  readonly digest: string
  readonly texts: readonly string[]
}

function piecesOf({ title, text = '' }: Tiddler): readonly string[] {
  const pieces: string[] = []
  for (let at = 0; at < text.length && pieces.length < mostPieces; at += pieceLength)
    pieces.push(`${title.slice(0, 200)}\n\n${text.slice(at, at + pieceLength)}`.toWellFormed())
  return pieces
}

/** All pieces of a page are in one batch. */
function* batchesOf(pages: readonly Piece[]): Iterable<readonly Piece[]> {
  let batch: Piece[] = []
  let size = 0
  for (const page of pages) {
    if (batch.length > 0 && size + page.texts.length > batchSize) {
      yield batch
      batch = []
      size = 0
    }
    batch.push(page)
    size += page.texts.length
  }
  if (batch.length > 0) yield batch
}

const mostDimensions = 16_384

/** Embeds texts as vectors of length 1. Throws if the results cannot be compared. */
async function vectorsOf(
  texts: readonly string[],
  embed: Embed,
  signal: AbortSignal,
  dimension?: number,
): Promise<readonly Float32Array[]> {
  signal.throwIfAborted()
  // Not to wait for a function that ignores its signal: later searches wait for this one.
  const rows: unknown = await orAborted(Promise.resolve(embed(texts, signal)), signal)
  signal.throwIfAborted()
  if (!Array.isArray(rows) || rows.length !== texts.length)
    throw new Error(
      `the embedding function gave ${Array.isArray(rows) ? rows.length : 'no'} vectors for ${texts.length} texts; it must give one for each`,
    )
  const wanted = dimension ?? (rows[0] as { length?: number } | undefined)?.length
  return rows.map((row: unknown) => unit(row, wanted))
}

function unit(row: unknown, wanted: number | undefined): Float32Array {
  const isVector = (Array.isArray(row) || ArrayBuffer.isView(row)) && 'length' in row
  if (!isVector || row.length === 0 || row.length > mostDimensions)
    throw new Error(`the embedding function gave something that is no vector of 1 to ${mostDimensions} numbers`)
  if (row.length !== wanted)
    throw new Error(
      `the embedding function gave a vector of ${row.length} numbers where the others have ${wanted}; all must come from one model`,
    )
  const vector = Float32Array.from(row as ArrayLike<number>)
  const length = Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0))
  if (!Number.isFinite(length)) throw new Error('the embedding function gave a vector with something that is no number')
  return length === 0 ? vector : vector.map((value) => value / length)
}

const bestOf = (vectors: readonly Float32Array[], wanted: Float32Array): number =>
  vectors.reduce((best, vector) => Math.max(best, dot(vector, wanted)), -1)

function dot(a: Float32Array, b: Float32Array): number {
  let sum = 0
  for (let i = 0; i < a.length; i++) sum += a[i]! * b[i]!
  return sum
}
