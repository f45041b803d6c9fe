import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Clock, systemClock } from '../../core/clock.ts'
import { isRecord } from '../../core/is-record.ts'
import { isAlive, type ProcessIdentity, thisProcess } from '../../platform/process-identity.ts'
import type { Attachment, Piece } from './attachments.ts'

export interface Draft {
  /** What a process that has ended left unsent: for this session, else in this folder. */
  readonly restored: readonly Piece[] | undefined
  /** Stores the text within half a second; with no pieces the draft is removed at once. */
  save(pieces: readonly Piece[]): void
  /** Stores at once what waits: at the end of the program, and before it is stopped. */
  flush(): void
  /** Flushes, and stores nothing from then on. */
  close(): void
}

interface DraftOptions {
  /** The folder of all drafts. */
  readonly directory: string
  /** Where the person works. */
  readonly folder: string
  readonly sessionId?: string
  readonly clock?: Clock
  /** The draft cannot be stored. Told once. */
  readonly onProblem?: (error: unknown) => void
}

/**
 * Keeps the unsent text in a file of mode 0600 that belongs to this process, so that terminals in one folder do not
 * overwrite each other's text. It survives a crash: the next process takes over what a dead one left.
 */
export function openDraft({ directory, folder, sessionId, clock = systemClock, onProblem }: DraftOptions): Draft {
  const owner = thisProcess()
  const path = join(directory, `${crypto.randomUUID()}.json`)
  const large = new Map<Attachment, string>()
  let waiting: readonly Piece[] | undefined
  let cancelTimer: (() => void) | undefined
  let hasFailed = false
  let isClosed = false

  /** A large attachment is written once, to a file of its own, and not again with each letter. */
  function stored(piece: Piece): unknown {
    if (typeof piece === 'string' || sizeOf(piece) < largeSize) return piece
    const known = large.get(piece)
    if (known) return { stored: known }
    const name = `${crypto.randomUUID()}.part`
    writeFileSync(join(directory, name), JSON.stringify(piece), { mode: 0o600, flag: 'wx' })
    large.set(piece, name)
    return { stored: name }
  }

  function write(pieces: readonly Piece[]): void {
    if (pieces.length === 0) {
      remove(path, large.values(), directory)
      large.clear()
      return
    }
    mkdirSync(directory, { recursive: true, mode: 0o700 })
    const text = JSON.stringify({ owner, folder, sessionId, pieces: pieces.map(stored) })
    writeFileSync(`${path}.tmp`, text, { mode: 0o600 })
    renameSync(`${path}.tmp`, path)
    for (const [attachment, name] of large) {
      if (pieces.includes(attachment)) continue
      large.delete(attachment)
      rmSync(join(directory, name), { force: true })
    }
  }

  function flush(): void {
    cancelTimer?.()
    cancelTimer = undefined
    if (!waiting || isClosed) return
    const pieces = waiting
    waiting = undefined
    try {
      write(pieces)
    } catch (error) {
      if (!hasFailed) onProblem?.(error)
      hasFailed = true
    }
  }

  const found = takeOver(path, { directory, folder, sessionId })
  for (const [attachment, name] of found?.large ?? []) large.set(attachment, name)
  if (found) {
    waiting = found.pieces
    flush() // it is this process's now
  }
  process.once('exit', flush)
  return {
    restored: found?.pieces,
    save(pieces) {
      waiting = pieces
      if (pieces.length === 0) flush()
      else cancelTimer ??= clock.timer(saveMs, flush)
    },
    flush,
    close() {
      flush()
      isClosed = true
      process.off('exit', flush)
    },
  }
}

const saveMs = 300
/** In characters. */
const largeSize = 64 * 1024
/** A draft that was not taken over for so long is deleted. */
const mostDays = 60

interface Place {
  readonly directory: string
  readonly folder: string
  readonly sessionId: string | undefined
}

interface FoundDraft {
  readonly path: string
  readonly at: number
  readonly isOfSession: boolean
  readonly pieces: readonly Piece[]
  readonly large: ReadonlyMap<Attachment, string>
}

/** Renames the file, which succeeds in one process only, and returns what it holds. */
function takeOver(path: string, place: Place): FoundDraft | undefined {
  const found = namesIn(place.directory)
    .filter((name) => name.endsWith('.json'))
    .map((name) => readDraft(join(place.directory, name), place))
    .filter((draft) => draft !== undefined)
    .sort((a, b) => Number(b.isOfSession) - Number(a.isOfSession) || b.at - a.at)
  for (const draft of found) {
    try {
      renameSync(draft.path, path)
      return draft
    } catch {
      // Another process has just taken it.
    }
  }
  return undefined
}

function readDraft(path: string, { directory, folder, sessionId }: Place): FoundDraft | undefined {
  try {
    const value: unknown = JSON.parse(readFileSync(path, 'utf8'))
    if (!isRecord(value) || !isIdentity(value.owner) || !Array.isArray(value.pieces) || isAlive(value.owner))
      return undefined
    const at = statSync(path).mtimeMs
    if (Date.now() - at > mostDays * 86_400_000) {
      remove(
        path,
        value.pieces.map((piece) => (isRecord(piece) ? String(piece.stored) : '')),
        directory,
      )
      return undefined
    }
    const isOfSession = sessionId !== undefined && value.sessionId === sessionId
    if (!isOfSession && value.folder !== folder) return undefined
    const large = new Map<Attachment, string>()
    const pieces = value.pieces.flatMap((piece) => readPiece(piece, directory, large))
    return { path, at, isOfSession, pieces, large }
  } catch {
    return undefined // it is being written or removed, or it is broken
  }
}

function readPiece(piece: unknown, directory: string, large: Map<Attachment, string>): Piece[] {
  if (typeof piece === 'string') return [piece]
  if (!isRecord(piece)) return []
  if (typeof piece.stored !== 'string' || !/^[\w-]+\.part$/.test(piece.stored))
    return isAttachment(piece) ? [piece] : []
  const stored: unknown = JSON.parse(readFileSync(join(directory, piece.stored), 'utf8'))
  if (!isAttachment(stored)) return []
  large.set(stored, piece.stored)
  return [stored]
}

const sizeOf = (attachment: Attachment): number =>
  attachment.kind === 'paste' ? attachment.text.length : attachment.image.data.length

function isAttachment(value: unknown): value is Attachment {
  if (!isRecord(value)) return false
  if (value.kind === 'paste') return typeof value.text === 'string'
  const { image, name, bytes } = value
  const isImage = isRecord(image) && typeof image.data === 'string' && typeof image.mediaType === 'string'
  return value.kind === 'image' && typeof name === 'string' && typeof bytes === 'number' && isImage
}

function isIdentity(value: unknown): value is ProcessIdentity {
  return isRecord(value) && typeof value.pid === 'number' && typeof value.host === 'string'
}

function remove(path: string, parts: Iterable<string>, directory: string): void {
  rmSync(path, { force: true })
  for (const name of parts) if (/^[\w-]+\.part$/.test(name)) rmSync(join(directory, name), { force: true })
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory)
  } catch {
    return []
  }
}
