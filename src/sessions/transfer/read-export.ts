import { show } from '../../core/behavior.ts'
import { messageOf, StoreError } from '../../core/errors.ts'
import { checkedAs, isRecord } from '../../core/is-record.ts'
import type { LogEntry } from '../../core/log.ts'
import { flawOf } from '../../core/plain-json.ts'
import { Transcript } from '../../core/transcript.ts'
import { fromBase64 } from '../bytes.ts'

/** A part of an export, in the order of its lines. */
export type ExportPart =
  /** The root session first, then its descendants, parents first. The parts that follow belong to it. */
  | { readonly type: 'session'; readonly id: string; readonly parent: string | undefined }
  | { readonly type: 'blob'; readonly name: string; readonly bytes: Uint8Array }
  | { readonly type: 'entry'; readonly entry: LogEntry; readonly size: number }
  /** `tornAt` is the line at which the text was cut off, if it was. */
  | { readonly type: 'end'; readonly tornAt: number | undefined }

type Line = Readonly<Record<string, unknown>>

/** Reads and checks an export line by line. Only its end may be missing, which is reported. */
export async function* readExport(text: string | AsyncIterable<string>): AsyncGenerator<ExportPart, void> {
  const reader = new Reader()
  let number = 0
  let unreadable: number | undefined
  for await (const line of linesOf(text)) {
    number++
    if (unreadable !== undefined) throw corrupt(unreadable, 'it is not valid JSON, and more lines follow')
    if (line.trim() === '') continue
    const parsed = parse(line)
    if (parsed === undefined) throw corrupt(number, `it must be an object, got ${show(line)}`)
    if (parsed === null) unreadable = number
    const part = parsed && reader.read(parsed, { number, size: line.length })
    if (part) yield part
  }
  if (reader.ids.size === 0)
    throw corrupt(unreadable ?? Math.max(number, 1), 'there is no header; an export begins with {"libero":"session"}')
  yield { type: 'end', tornAt: reader.isOver ? undefined : (unreadable ?? number + 1) }
}

/** `null` if it is not JSON, `undefined` if it is JSON but not an object. */
function parse(line: string): Line | null | undefined {
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch {
    return null
  }
  return isRecord(value) ? value : undefined
}

const corrupt = (line: number, why: string): StoreError =>
  new StoreError('corrupt', `The export cannot be read at line ${line}: ${why}. Nothing was imported`)

/** So many entries are checked together: a transcript of all of them would take as much memory as the session. */
const entriesPerCheck = 2000

class Reader {
  /** Those of the sessions so far. */
  readonly ids = new Set<string>()
  isOver = false
  /** The session of the entries that follow: how many it has, and how many it should have. */
  #session = { id: '', entries: 0, wanted: 0 }
  #transcript = new Transcript()
  #entryIds = new Set<string>()

  /** Undefined for the end line. */
  read(line: Line, { number, size }: { number: number; size: number }): ExportPart | undefined {
    if (this.isOver) throw corrupt(number, 'nothing may follow the end')
    const { libero } = line
    if (this.ids.size === 0 && libero !== 'session')
      throw corrupt(number, `an export begins with {"libero":"session"}, got ${show(line)}`)
    if (libero === undefined) return { type: 'entry', entry: this.#entry(line, number), size }
    if (libero === 'session' || libero === 'child') return this.#begin(line, number)
    if (libero === 'blob') return blobOf(line, number)
    if (libero !== 'end') throw corrupt(number, `there is no ${show(libero)} in an export`)
    this.#end(line, number)
    return undefined
  }

  #begin({ libero, version, id, parent, entries }: Line, number: number): ExportPart {
    this.#checkWhole(number)
    if (typeof id !== 'string' || id === '') throw corrupt(number, `id must be a text, got ${show(id)}`)
    if (typeof entries !== 'number') throw corrupt(number, `entries must be a number, got ${show(entries)}`)
    if (libero === 'session') {
      if (this.ids.size > 0) throw corrupt(number, 'there is a second session; a child has {"libero":"child"}')
      if (typeof version !== 'number') throw corrupt(number, `version must be a number, got ${show(version)}`)
      if (version > exportVersion)
        throw new StoreError(
          'newer',
          `The export has version ${version}, this Libero reads up to ${exportVersion}; use a newer one`,
        )
    } else if (typeof parent !== 'string' || !this.ids.has(parent))
      throw corrupt(number, `its parent ${show(parent)} is not before it`)
    if (this.ids.has(id)) throw corrupt(number, `session "${id}" is there twice`)
    this.ids.add(id)
    this.#session = { id, entries: 0, wanted: entries }
    this.#beginCheck()
    return { type: 'session', id, parent: libero === 'child' ? (parent as string) : undefined }
  }

  #beginCheck(): void {
    this.#transcript = new Transcript()
    this.#entryIds = new Set()
  }

  #entry(line: Line, number: number): LogEntry {
    const { seq, id, at, type } = line
    const next = this.#session.entries + 1
    if (seq !== next) throw corrupt(number, `its seq must be ${next}, got ${show(seq)}`)
    if (typeof id !== 'string' || id === '') throw corrupt(number, `its id must be a text, got ${show(id)}`)
    if (this.#entryIds.has(id)) throw corrupt(number, `the id "${id}" is there twice`)
    if (typeof at !== 'number') throw corrupt(number, `its time (at) must be a number, got ${show(at)}`)
    if (typeof type !== 'string' || type === '') throw corrupt(number, `its type must be a text, got ${show(type)}`)
    if (type === 'spilled') throw corrupt(number, 'an export holds entries whole, not the names of their blobs')
    const flaw = flawOf(line)
    if (flaw && flaw !== 'malformed text') throw corrupt(number, `its content cannot be kept: ${flaw}`)
    const wrong = wrongField(line)
    if (wrong) throw corrupt(number, `the entry of type "${type}" has no right ${wrong}`)
    const entry = checkedAs<LogEntry>(line)
    try {
      this.#transcript.apply(entry)
    } catch (error) {
      throw corrupt(number, `the entry of type "${type}" makes no sense here: ${messageOf(error)}`)
    }
    this.#entryIds.add(id)
    this.#session.entries = next
    if (next % entriesPerCheck === 0) this.#beginCheck()
    return entry
  }

  #end({ sessions }: Line, number: number): void {
    this.#checkWhole(number)
    if (sessions !== this.ids.size)
      throw corrupt(number, `it says there are ${show(sessions)} sessions, there are ${this.ids.size}`)
    this.isOver = true
  }

  #checkWhole(number: number): void {
    const { id, entries, wanted } = this.#session
    if (entries !== wanted) throw corrupt(number, `session "${id}" has ${entries} entries, should have ${wanted}`)
  }
}

function blobOf({ name, data }: Line, number: number): ExportPart {
  const bytes = typeof data === 'string' ? fromBase64(data) : undefined
  if (typeof name !== 'string' || !bytes) throw corrupt(number, 'a blob needs a name, and data in base64')
  return { type: 'blob', name, bytes }
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
  checkpoint: { from: number },
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
  let begun: string[] = []
  for await (const piece of typeof text === 'string' ? [text] : text) {
    let at = 0
    for (let end = piece.indexOf('\n'); end >= 0; end = piece.indexOf('\n', at)) {
      yield begun.join('') + piece.slice(at, end)
      begun = []
      at = end + 1
    }
    begun.push(piece.slice(at))
  }
  const rest = begun.join('')
  if (rest !== '') yield rest
}
