import { show } from '../../core/behavior.ts'
import { messageOf, StoreError } from '../../core/errors.ts'
import type { LogEntry } from '../../core/log.ts'
import { flawOf } from '../../core/plain-json.ts'
import { Transcript } from '../../core/transcript.ts'
import { fromBase64 } from '../bytes.ts'

/** One session of an export. */
export interface ExportedSession {
  readonly id: string
  readonly parent: string | undefined
  readonly entries: LogEntry[]
  readonly blobs: Map<string, Uint8Array>
}

interface ReadExport {
  /** The root session, then its descendants, parents first. */
  readonly sessions: readonly ExportedSession[]
  /** The line at which the text was cut off, if it was. */
  readonly tornAt: number | undefined
}

type Line = Readonly<Record<string, unknown>>

/** Reads and checks a whole export before anything is written. Only its end may be missing, which is reported. */
export async function readExport(text: string | AsyncIterable<string>): Promise<ReadExport> {
  const reader = new Reader()
  let number = 0
  let unreadable: number | undefined
  for await (const line of linesOf(text)) {
    number++
    if (unreadable !== undefined) throw corrupt(unreadable, 'it is not valid JSON, and more lines follow')
    const parsed = line.trim() === '' ? undefined : parse(line)
    if (parsed === null) unreadable = number
    else if (parsed) reader.add(parsed, number)
    else if (line.trim() !== '') throw corrupt(number, `it must be an object, got ${show(line)}`)
  }
  if (reader.sessions.length === 0)
    throw corrupt(unreadable ?? Math.max(number, 1), 'there is no header; an export begins with {"libero":"session"}')
  return { sessions: reader.sessions, tornAt: reader.isOver ? undefined : (unreadable ?? number + 1) }
}

/** `null` if it is not JSON, `undefined` if it is JSON but not an object. */
function parse(line: string): Line | null | undefined {
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch {
    return null
  }
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Line) : undefined
}

const corrupt = (line: number, why: string): StoreError =>
  new StoreError('corrupt', `The export cannot be read at line ${line}: ${why}. Nothing was imported`)

class Reader {
  readonly sessions: ExportedSession[] = []
  isOver = false
  #wanted = 0
  #transcript = new Transcript()
  #ids = new Set<string>()

  add(line: Line, number: number): void {
    if (this.isOver) throw corrupt(number, 'nothing may follow the end')
    const { libero } = line
    if (this.sessions.length === 0 && libero !== 'session')
      throw corrupt(number, `an export begins with {"libero":"session"}, got ${show(line)}`)
    if (libero === undefined) this.#addEntry(line, number)
    else if (libero === 'session' || libero === 'child') this.#begin(line, number)
    else if (libero === 'blob') this.#addBlob(line, number)
    else if (libero === 'end') this.#end(line, number)
    else throw corrupt(number, `there is no ${show(libero)} in an export`)
  }

  #begin({ libero, version, id, parent, entries }: Line, number: number): void {
    this.#checkWhole(number)
    if (typeof id !== 'string' || id === '') throw corrupt(number, `id must be a text, got ${show(id)}`)
    if (typeof entries !== 'number') throw corrupt(number, `entries must be a number, got ${show(entries)}`)
    if (libero === 'session') {
      if (this.sessions.length > 0) throw corrupt(number, 'there is a second session; a child has {"libero":"child"}')
      if (typeof version !== 'number') throw corrupt(number, `version must be a number, got ${show(version)}`)
      if (version > exportVersion)
        throw new StoreError(
          'newer',
          `The export has version ${version}, this Libero reads up to ${exportVersion}; use a newer one`,
        )
    } else if (!this.sessions.some((session) => session.id === parent))
      throw corrupt(number, `its parent ${show(parent)} is not before it`)
    if (this.sessions.some((session) => session.id === id)) throw corrupt(number, `session "${id}" is there twice`)
    this.#wanted = entries
    this.#transcript = new Transcript()
    this.#ids = new Set()
    const above = libero === 'child' && typeof parent === 'string' ? parent : undefined
    this.sessions.push({ id, parent: above, entries: [], blobs: new Map() })
  }

  #addEntry(line: Line, number: number): void {
    const { entries } = this.#session()
    const { seq, id, at, type } = line
    const next = entries.length + 1
    if (seq !== next) throw corrupt(number, `its seq must be ${next}, got ${show(seq)}`)
    if (typeof id !== 'string' || id === '') throw corrupt(number, `its id must be a text, got ${show(id)}`)
    if (this.#ids.has(id)) throw corrupt(number, `the id "${id}" is there twice`)
    if (typeof at !== 'number') throw corrupt(number, `its time (at) must be a number, got ${show(at)}`)
    if (typeof type !== 'string' || type === '') throw corrupt(number, `its type must be a text, got ${show(type)}`)
    if (type === 'spilled') throw corrupt(number, 'an export holds entries whole, not the names of their blobs')
    const flaw = flawOf(line)
    if (flaw && flaw !== 'malformed text') throw corrupt(number, `its content cannot be kept: ${flaw}`)
    const wrong = wrongField(line)
    if (wrong) throw corrupt(number, `the entry of type "${type}" has no right ${wrong}`)
    try {
      this.#transcript.apply(line as unknown as LogEntry)
    } catch (error) {
      throw corrupt(number, `the entry of type "${type}" makes no sense here: ${messageOf(error)}`)
    }
    this.#ids.add(id)
    entries.push(line as unknown as LogEntry)
  }

  #addBlob({ name, data }: Line, number: number): void {
    const bytes = typeof data === 'string' ? fromBase64(data) : undefined
    if (typeof name !== 'string' || !bytes) throw corrupt(number, 'a blob needs a name, and data in base64')
    this.#session().blobs.set(name, bytes)
  }

  #end({ sessions }: Line, number: number): void {
    this.#checkWhole(number)
    if (sessions !== this.sessions.length)
      throw corrupt(number, `it says there are ${show(sessions)} sessions, there are ${this.sessions.length}`)
    this.isOver = true
  }

  #checkWhole(number: number): void {
    const last = this.sessions.at(-1)
    if (last && last.entries.length !== this.#wanted)
      throw corrupt(number, `session "${last.id}" has ${last.entries.length} entries, should have ${this.#wanted}`)
  }

  #session(): ExportedSession {
    return this.sessions.at(-1) as ExportedSession
  }
}

/** The first required field that is missing or wrong in an entry of a known type. Entries of unknown types are kept. */
function wrongField(line: Line): string | undefined {
  const wanted = Object.hasOwn(needed, line.type as string) ? needed[line.type as string] : undefined
  for (const [path, isRight] of Object.entries(wanted ?? {})) {
    const value = path.split('.').reduce<unknown>((outer, key) => (outer as Line | undefined)?.[key], line)
    if (!isRight(value)) return path
  }
  return undefined
}

type Check = (value: unknown) => boolean
const text: Check = (value) => typeof value === 'string'
const number: Check = (value) => typeof value === 'number'
const blocks: Check = (value) =>
  Array.isArray(value) && value.every((block: { type?: unknown } | null) => typeof block?.type === 'string')
const output: Check = (value) => text(value) || blocks(value)
const role: Check = (value) => value === 'user' || value === 'assistant'

const needed: Readonly<Record<string, Readonly<Record<string, Check>>>> = {
  run_started: { runId: text, model: text },
  run_ended: { runId: text, status: text, stop: text },
  input: { mode: text, clientKey: text, content: blocks },
  turn: { 'turn.id': text, 'turn.role': role, 'turn.content': blocks },
  call_started: { callId: text, key: text, replay: text },
  call_result: { callId: text, output, outcome: text },
  approval_requested: { callId: text, digest: text },
  approval_answered: { callId: text, digest: text, decision: text },
  state: { owner: text },
  compaction: { toSeq: number, summary: blocks },
  context_edit: { turnId: text, block: number },
  rewind: { toSeq: number },
  label: { text },
}

/** The version of the format that is written, and the newest that is read. */
export const exportVersion = 1

/** The values of all fields named `blob`, by which entries refer to blobs. */
export function* blobNamesIn(value: unknown): Generator<string> {
  if (typeof value !== 'object' || value === null) return
  for (const [key, inner] of Object.entries(value)) {
    if (key === 'blob' && typeof inner === 'string') yield inner
    else yield* blobNamesIn(inner)
  }
}

/** A copy with renamed blobs. */
export function renameBlobs<T>(value: T, names: ReadonlyMap<string, string>): T {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map((inner) => renameBlobs(inner, names)) as T
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => {
      const name = key === 'blob' && typeof inner === 'string' ? names.get(inner) : undefined
      return [key, name ?? renameBlobs(inner, names)]
    }),
  ) as T
}

/** Splits text that comes in pieces into lines; the last one may lack its line end. */
async function* linesOf(text: string | AsyncIterable<string>): AsyncGenerator<string> {
  let rest = ''
  for await (const piece of typeof text === 'string' ? [text] : text) {
    const lines = (rest + piece).split('\n')
    rest = lines.pop() ?? ''
    yield* lines
  }
  if (rest !== '') yield rest
}
