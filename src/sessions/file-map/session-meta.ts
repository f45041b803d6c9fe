import { StoreError } from '../../core/errors.ts'
import type { InboxItem } from '../../core/log.ts'
import { emptySummary, type StoredSummary } from '../stored-summary.ts'
import { metaPath } from './adapter-files.ts'

/** The format that `index.json` and each `meta.json` have. A file with a higher number is read and never written. */
export const format = 2

/** `meta.json`: everything about a session except its entries. Its `head` says how many entries are valid. */
export interface SessionMeta {
  readonly format: number
  readonly id: string
  readonly head: number
  readonly epoch: number
  readonly owner?: string
  readonly parent?: string
  /** For a fork: the session whose first `head` entries it shares. Its own entries are in `fork.jsonl`. */
  readonly base?: { readonly id: string; readonly head: number }
  /** It is a fork, or was one until its base was deleted. */
  readonly isFork?: true
  /** Absent in format 1. */
  readonly record?: StoredSummary
  readonly inbox: readonly InboxItem[]
  readonly blobs: readonly string[]
  /** For a fork whose base was deleted: copies of the blobs that it shared. */
  readonly keptBlobs?: readonly string[]
  /** The session is being deleted, with these descendants. */
  readonly deleting?: readonly string[]
}

export function freshMeta(id: string): SessionMeta {
  return { format, id, head: 0, epoch: 0, record: emptySummary, inbox: [], blobs: [] }
}

export function metaIn(text: string, path: string): SessionMeta {
  const meta = parsed<SessionMeta>(text, path)
  if (typeof meta.head !== 'number' || !Array.isArray(meta.inbox) || !Array.isArray(meta.blobs)) throw unreadable(path)
  return meta
}

export function parsed<T extends object>(text: string, path: string): T {
  try {
    return (JSON.parse(text) as T | null) ?? ({} as T)
  } catch (cause) {
    throw unreadable(path, cause)
  }
}

export const unreadable = (path: string, cause?: unknown): StoreError =>
  new StoreError('corrupt', `"${path}" cannot be read; restore it from a backup. Other sessions are not affected`, {
    cause,
  })

export function checkWritable(meta: SessionMeta): void {
  if (meta.format > format) throw newerFormat(metaPath(meta.id), meta.format)
}

export const newerFormat = (path: string, found: number): StoreError =>
  new StoreError('newer', `${path} has format ${found}, this version writes ${format}: it can be read; update libero`)
