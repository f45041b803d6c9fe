import * as fs from 'node:fs'
import { basename } from 'node:path'
import { headMoved, leaseLost } from '../../core/errors.ts'
import { failpoint, type LogEntry } from '../../core/log.ts'
import { partsOf, sharedEntries } from './base-parts.ts'
import { storeErrorOf, withReadErrors, withWriteErrors } from './file-errors.ts'
import { type FileIdentity, fileCheck, openForAppending, syncData } from './files.ts'
import { logPath } from './log-file.ts'
import { linesOf } from './log-lines.ts'
import { findEnd, findLine, readLines, withExactErrors } from './log-positions.ts'
import type { Slots } from './slots.ts'

interface WriterOptions {
  readonly id: string
  readonly folder: string
  /** Whether an append is on the disk before it is acknowledged. */
  readonly sync: boolean
  /** Bounds how many files are synced at once: the threads that do it also serve the rest of the process. */
  readonly slots: Slots
  /** Throws if another writer may have the session; see `log-file.ts`. */
  readonly checkStillWriter: () => void
}

interface Append {
  readonly entries: readonly LogEntry[]
  readonly head: number
  readonly done: (bytes: number) => void
  readonly failed: (error: unknown) => void
}

const recheckAfterMs = 2

/**
 * The log of a session, held open by its one writer. Appends are written in the order in which they come. Those that come
 * while one is being written share the next write and sync. The event loop goes on while the disk works.
 */
export class LogWriter {
  readonly path: string
  /** The name of the folder. */
  readonly name: string
  /** Identifies the file over time: inodes are reused, so the time of creation is part of it. */
  readonly identity: FileIdentity & { readonly birthtimeNs: bigint }
  /** Whether the file at the path is still the one that is open. */
  readonly isCurrent: () => boolean
  /** The number of the last entry. */
  head = 0
  /** The size of the file up to that entry. */
  size = 0
  /** How many appends use this log. It is not closed meanwhile to make room for others. */
  users = 0
  /** How many entries the session shares with the one it was forked from. */
  #sharedCount: number
  readonly #options: WriterOptions
  readonly #fd: number
  readonly #waiting: Append[] = []
  #writing: Promise<void> | undefined
  #isWriting = false
  /** No new append is accepted; the file is closed when the running write ends. */
  #isClosed = false
  #isFileClosed = false
  /** When the path was last checked to be this file. */
  #checkedAt = 0
  /** A partial write could not be truncated yet. */
  #hasPartialWrite = false

  /** Opens a log, and creates it if it is missing. Nothing else changes before `repairEnd`. */
  constructor(options: WriterOptions) {
    this.#options = options
    this.path = logPath(options.folder)
    this.name = basename(options.folder)
    this.#sharedCount = sharedEntries(partsOf(options.folder))
    this.#fd = openForAppending(this.path)
    const { dev, ino, birthtimeNs } = withReadErrors(this.path, () => fs.fstatSync(this.#fd, { bigint: true }))
    this.identity = { dev, ino, birthtimeNs }
    this.isCurrent = fileCheck(this.path, this.identity)
  }

  /** Finds the end of the log, and truncates a partial write of a crashed writer. Only the holder of the lease may do that. */
  repairEnd(): void {
    const lines = this.#lines()
    const end = withExactErrors(lines, () => findEnd(lines))
    this.size = end.offset
    this.head = end.offset === 0 ? 0 : end.seq - 1
    if (withReadErrors(this.path, () => fs.fstatSync(this.#fd)).size > this.size) this.#truncate()
  }

  /** Nothing is written, nor being written. */
  get isEmpty(): boolean {
    return this.size === 0 && !this.#isWriting
  }

  /** Begins an empty log after the entries that the session shares. */
  beginAfter(sharedCount: number): void {
    this.#sharedCount = sharedCount
    this.head = sharedCount
  }

  /** Returns the number of bytes written, or 0 if these entries were already stored. Without `sync` it is synchronous. */
  append(entries: readonly LogEntry[], head: number): number | Promise<number> {
    if (!this.#options.sync) return this.#appendUnsynced(entries, head)
    return new Promise((done, failed) => {
      this.#waiting.push({ entries, head, done, failed })
      if (!this.#isWriting) this.#writing = this.#writeAll()
    })
  }

  #appendUnsynced(entries: readonly LogEntry[], head: number): number {
    if (!this.#isNext(entries, head, this.head)) return this.#checkRepeated(entries, head)
    checkNumbers(this.#options.id, entries, head)
    const bytes = bytesOf(linesOf(entries))
    this.#write(bytes, entries)
    this.#finish(bytes.length, entries)
    return bytes.length
  }

  /** Refuses appends that have not begun. Resolves when the others are written and the file is closed. */
  async close(): Promise<void> {
    this.#isClosed = true
    if (!this.#isWriting) this.#closeFile()
    await this.#writing
  }

  async #writeAll(): Promise<void> {
    this.#isWriting = true
    const { slots } = this.#options
    while (this.#waiting.length > 0) {
      const whenFree = slots.enter()
      if (whenFree) await whenFree
      const group = this.#nextGroup()
      try {
        if (group.length > 0) await this.#writeGroup(group)
      } catch (error) {
        for (const { failed } of group) failed(error)
      }
      slots.leave()
    }
    this.#isWriting = false
    if (this.#isClosed) this.#closeFile()
  }

  async #writeGroup(group: readonly Append[]): Promise<void> {
    const entries = group.length === 1 ? group[0]!.entries : group.flatMap((append) => append.entries)
    const texts = group.map((append) => linesOf(append.entries))
    const sizes = texts.map((text) => Buffer.byteLength(text))
    const size = sizes.reduce((sum, one) => sum + one, 0)
    this.#write(bytesOf(texts.join('')), entries)
    await this.#sync()
    this.#finish(size, entries)
    for (const [i, { done }] of group.entries()) done(sizes[i]!)
  }

  #closeFile(): void {
    if (!this.#isFileClosed) fs.closeSync(this.#fd)
    this.#isFileClosed = true
  }

  /** The appends that follow each other and are written together. Those that cannot be written are answered. */
  #nextGroup(): Append[] {
    const group: Append[] = []
    let head = this.head
    for (let next = this.#waiting[0]; next; next = this.#waiting[0]) {
      const isNext = this.#isNext(next.entries, next.head, head)
      if (!isNext && group.length > 0) break // it is answered when these are written
      this.#waiting.shift()
      try {
        if (isNext) checkNumbers(this.#options.id, next.entries, head)
        else next.done(this.#checkRepeated(next.entries, next.head))
      } catch (error) {
        next.failed(error)
        continue
      }
      if (!isNext) continue
      group.push(next)
      head += next.entries.length
    }
    return group
  }

  #isNext(entries: readonly LogEntry[], head: number, current: number): boolean {
    return head === current && entries.length > 0 && !this.#isClosed
  }

  /** Repeating an append that succeeded is allowed, and writes nothing; any other append at another head is not. */
  #checkRepeated(entries: readonly LogEntry[], head: number): 0 {
    const { id } = this.#options
    if (this.#isClosed) throw leaseLost(id)
    const stored = this.#storedAfter(head, entries.length)
    if (entries.every((entry, i) => stored[i]?.id === entry.id)) return 0
    throw headMoved(id, this.head, head)
  }

  #storedAfter(head: number, count: number): readonly LogEntry[] {
    const lines = this.#lines()
    if (count === 0 || head < lines.first - 1 || head >= this.head) return []
    const end = { seq: this.head + 1, offset: this.size }
    return withExactErrors(lines, () =>
      readLines(lines, findLine(lines, head + 1, { seq: lines.first, offset: 0 }, end), count, end),
    )
  }

  /** Writes lines to the memory of the system, which takes microseconds. */
  #write(bytes: Buffer, entries: readonly LogEntry[]): void {
    // The check at the end decides. This earlier check stops a writer that was paused, before it appends to a log that was
    // moved meanwhile. It is skipped right after another check.
    if (performance.now() - this.#checkedAt > recheckAfterMs) this.#options.checkStillWriter()
    if (this.#hasPartialWrite) this.#undo()
    if (this.#isClosed) throw leaseLost(this.#options.id) // what follows a partial line would be unreadable
    try {
      failpoint('jsonl.append.beforeWrite', entries)
      for (let done = 0; done < bytes.length; ) done += fs.writeSync(this.#fd, bytes, done)
      failpoint('jsonl.append.afterWrite', entries)
    } catch (error) {
      throw this.#failure(error)
    }
  }

  async #sync(): Promise<void> {
    try {
      await syncData(this.#fd)
    } catch (error) {
      throw this.#failure(error)
    }
  }

  /** The lines are written; throws if another writer has the session. */
  #finish(size: number, entries: readonly LogEntry[]): void {
    try {
      failpoint('jsonl.append.afterSync', entries)
    } catch (error) {
      throw this.#failure(error)
    }
    this.head += entries.length
    this.size += size
    this.#options.checkStillWriter()
    this.#checkedAt = performance.now()
  }

  #failure(error: unknown): Error {
    this.#hasPartialWrite = true
    try {
      this.#undo()
    } catch {} // the next append tries again
    return storeErrorOf(error, this.path, 'write')
  }

  /**
   * Removes a partial write. If a fork has a hard link to this file, the partial write is not truncated, because the fork may
   * already share its complete lines. This writer stops, and the next holder of the lease repairs the end.
   */
  #undo(): void {
    if (fs.fstatSync(this.#fd).nlink > 1) this.#isClosed = true
    else this.#truncate()
  }

  #truncate(): void {
    withWriteErrors(this.path, () => fs.ftruncateSync(this.#fd, this.size))
    this.#hasPartialWrite = false
  }

  #lines() {
    return { fd: this.#fd, path: this.path, first: this.#sharedCount + 1 }
  }
}

const scratch = Buffer.allocUnsafe(64 * 1024)

/** The bytes of a text, valid until the next call: to allocate them anew costs a tenth of an append. */
function bytesOf(text: string): Buffer {
  return 3 * text.length > scratch.length ? Buffer.from(text) : scratch.subarray(0, scratch.write(text))
}

function checkNumbers(id: string, entries: readonly LogEntry[], head: number): void {
  for (const [i, entry] of entries.entries())
    if (entry.seq !== head + i + 1)
      throw new RangeError(`Entry ${entry.id} of session ${id} has seq ${entry.seq}, but ${head} are written`)
}
