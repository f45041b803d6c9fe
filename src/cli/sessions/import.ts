import { createReadStream } from 'node:fs'
import { resolve } from 'node:path'
import { createIds } from '../../core/clock.ts'
import { codeOf, messageOf } from '../../core/errors.ts'
import { isRecord } from '../../core/is-record.ts'
import type { SessionStore } from '../../core/store.ts'
import { fullyVisible, visibleName } from '../../platform/visible-text.ts'
import { importSession } from '../../sessions/export.ts'
import type { ForeignTranscript } from '../../sessions/interop/transcript.ts'
import { createSession } from '../../sessions/session.ts'
import { turnEntries } from '../../sessions/turn-entries.ts'
import { CliError, exitCodes, UsageError } from '../cli-error.ts'
import type { Io } from '../io.ts'
import { type SessionArgs, withStore } from './open-store.ts'
import { realFolder } from './session-folder.ts'
import { newSessionId } from './session-id.ts'

/** `libero sessions import`. */
export async function importOne({ values, words }: SessionArgs<{ readonly from?: string }>, io: Io): Promise<number> {
  const [file] = words
  if (file === undefined) throw new UsageError('sessions import needs a file, or - for stdin')
  const shown = file === '-' ? 'what came from stdin' : visibleName(file)
  const input = await readInput(file, io, shown)
  const from = values.from ?? (isOwn(input.beginning) ? 'libero' : undefined)
  const id = await withStore(io, async (store) => {
    try {
      if (from === 'libero') return await importOwn(store, input, io)
      const text = await allOf(input.text)
      return await importForeign(store, text, from ?? (await detectProgram(text, shown)), io)
    } catch (error) {
      throw error instanceof CliError ? error : cannotImport(shown, fullyVisible(messageOf(error)), error)
    }
  })
  io.out(id)
  return exitCodes.done
}

interface Input {
  /** At least the first line, if it is not very long. */
  readonly beginning: string
  /** All of it, in pieces: a session may be larger than memory. */
  readonly text: AsyncIterable<string>
}

async function readInput(file: string, { cwd, stdin }: Io, shown: string): Promise<Input> {
  const stream = file === '-' ? stdin.setEncoding('utf8') : createReadStream(resolve(cwd, file), 'utf8')
  const pieces: AsyncIterator<string> = stream[Symbol.asyncIterator]()
  let beginning = ''
  try {
    for (let isOver = false; !isOver && beginning.length < longestHeader && !beginning.trimStart().includes('\n'); ) {
      const { done = false, value = '' } = await pieces.next()
      isOver = done
      beginning += value
    }
  } catch (error) {
    if (file === '-') throw error
    throw cannotImport(shown, readProblems[codeOf(error) ?? ''] ?? fullyVisible(messageOf(error)), error)
  }
  return { beginning, text: following(beginning, pieces) }
}

const longestHeader = 100_000

async function* following(beginning: string, pieces: AsyncIterator<string>): AsyncGenerator<string, void> {
  yield beginning
  yield* { [Symbol.asyncIterator]: () => pieces }
}

async function allOf(pieces: AsyncIterable<string>): Promise<string> {
  let text = ''
  for await (const piece of pieces) text += piece
  return text
}

const readProblems: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EISDIR: 'it is a folder',
  EACCES: 'it may not be read',
}

const cannotImport = (what: string, why: string, cause: unknown): CliError =>
  new CliError(`${what} cannot be imported: ${why}`, exitCodes.error, { cause })

async function detectProgram(text: string, shown: string): Promise<string> {
  const { detectTranscript } = await import('../../sessions/interop/detect-transcript.ts')
  let program: string | undefined
  try {
    program = detectTranscript(text)
  } catch {
    // Not JSON Lines, so not written by any of them.
  }
  if (program !== undefined) return program
  throw new CliError(
    `${shown} is not a session of Libero, Claude Code, Codex or pi, which are JSON Lines; if it is one, name the program with --from`,
  )
}

function isOwn(text: string): boolean {
  try {
    const header: unknown = JSON.parse(firstLine(text))
    return isRecord(header) && 'libero' in header
  } catch {
    return false
  }
}

const firstLine = (text: string): string => text.trimStart().split('\n', 1)[0]!

/** Keeps the id of the session, unless it is taken or hard to type. */
async function importOwn(store: SessionStore, { beginning, text }: Input, io: Io): Promise<string> {
  const { id: name } = JSON.parse(firstLine(beginning)) as { id?: unknown }
  const isTaken = typeof name === 'string' && (await store.find(name)) !== undefined
  const isHardToType = typeof name === 'string' && name !== '' && !/^\w[\w.:@~-]{0,199}$/.test(name)
  const { id, tornAt } = await importSession(store, text, isTaken || isHardToType ? { id: newSessionId() } : {})
  if (isTaken) io.err(`There is a session ${fullyVisible(name)} already; this one is called ${id}`)
  else if (isHardToType) io.err(`Its name "${fullyVisible(name)}" is hard to type; it is called ${id} here`)
  if (tornAt !== undefined) io.err(`The file was cut off at line ${tornAt}; everything before it was imported`)
  return id
}

async function importForeign(store: SessionStore, text: string, from: string, io: Io): Promise<string> {
  const { messages, meta, skipped } = await parseTranscript(text, from)
  if (messages.length === 0) throw new Error('there are no messages in it')
  const session = await createSession({ store, id: newSessionId() })
  const newId = createIds()
  const turns = turnEntries(messages, () => ({ id: newId(), createdAt: Date.now() }))
  await session.open()
  try {
    const folder = realFolder(meta.cwd ?? io.cwd)
    await session.log.appendAll([{ type: 'details', folder }, ...turns]) // in one append: all or nothing
  } catch (error) {
    await store.delete(session.id).catch(() => {}) // without entries no list shows it
    throw error
  } finally {
    await session.release()
  }
  if (skipped.length > 0) io.err(`Left out: ${skipped.map((one) => fullyVisible(one)).join('; ')}`)
  return session.id
}

async function parseTranscript(text: string, from: string): Promise<ForeignTranscript> {
  if (from === 'codex') return (await import('../../sessions/interop/codex.ts')).fromCodex(text)
  if (from === 'pi') return (await import('../../sessions/interop/pi.ts')).fromPi(text)
  return (await import('../../sessions/interop/claude-code.ts')).fromClaudeCode(text)
}
