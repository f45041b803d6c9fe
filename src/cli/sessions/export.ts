import { lstatSync } from 'node:fs'
import { extname, resolve } from 'node:path'
import type { SessionStore } from '../../core/store.ts'
import { writeFileAtomic } from '../../platform/files.ts'
import { createRedactor, type Redactor } from '../../platform/redact.ts'
import { visibleName } from '../../platform/visible-text.ts'
import { CliError, exitCodes } from '../cli-error.ts'
import type { Io, Output } from '../io.ts'
import { findSession } from './find-session.ts'
import { requireSessionId, type SessionArgs, withStore } from './open-store.ts'
import { readTranscriptView } from './transcript-view/transcript-view.ts'

interface ExportValues {
  readonly format?: string
  readonly output?: string
  readonly force?: boolean
  readonly 'with-secrets'?: boolean
}

/** `libero sessions export`. */
export async function exportOne({ values, words }: SessionArgs<ExportValues>, io: Io): Promise<number> {
  const idOrPrefix = requireSessionId(words, 'export')
  const { output } = values
  const path = output === undefined || output === '-' ? undefined : resolve(io.cwd, output)
  if (path !== undefined && !values.force) refuseExisting(path, output!)
  const format = values.format ?? formats[extname(output ?? '').toLowerCase()] ?? 'md'
  const redactor = values['with-secrets'] ? undefined : createRedactor({ env: io.env })
  await withStore(io, async (store) => {
    const text = joined(exportText(store, await findSession(store, idOrPrefix), format, redactor))
    if (path === undefined) await writeAll(io.stdout, text)
    else await writeFileAtomic(path, text)
  })
  if (path !== undefined) io.err(`Wrote ${visibleName(output!)}`)
  return exitCodes.done
}

/** Waits for the reader, so that the text is not held in memory. Ends when the reader is gone. */
async function writeAll(stdout: Output, text: AsyncIterable<string>): Promise<void> {
  for await (const piece of text) {
    if (stdout.destroyed || stdout.errored) return
    if (stdout.write(piece)) continue
    await new Promise<void>((resolve) => {
      const events = ['drain', 'close', 'error']
      const done = (): void => {
        for (const event of events) stdout.off(event, done)
        resolve()
      }
      for (const event of events) stdout.on(event, done)
    })
  }
}

/** Joins short pieces: each is written by itself. */
async function* joined(pieces: AsyncIterable<string>): AsyncGenerator<string, void> {
  let text = ''
  for await (const piece of pieces) {
    text += piece
    if (text.length < 64 * 1024) continue
    yield text
    text = ''
  }
  if (text !== '') yield text
}

const formats: Readonly<Record<string, string>> = {
  '.jsonl': 'jsonl',
  '.ndjson': 'jsonl',
  '.md': 'md',
  '.markdown': 'md',
  '.html': 'html',
  '.htm': 'html',
}

/** Prevents mistakes, but not a race with another process. */
function refuseExisting(path: string, name: string): void {
  if (lstatSync(path, { throwIfNoEntry: false }))
    throw new CliError(`${visibleName(name)} exists already; choose another name, or replace it with --force`)
}

async function* exportText(
  store: SessionStore,
  id: string,
  format: string,
  redactor?: Redactor,
): AsyncGenerator<string, void> {
  if (format === 'jsonl') return yield* exportLines(store, id, redactor)
  if (format === 'html') {
    const { replayPage } = await import('../../web/replay-page.ts')
    const title = (await store.find(id))?.title ?? id
    const lines = exportLines(store, id, redactor)
    return yield* replayPage(lines, { title: redactor?.text(title) ?? title, isRedacted: redactor !== undefined })
  }
  const transcript = await readTranscriptView(store, id, redactor)
  yield await (await import('./markdown/transcript-markdown.ts')).transcriptMarkdown(transcript)
}

type Line = Readonly<Record<string, unknown>>

/** A session as JSON Lines that can be imported again; the redactor removes secrets. */
export async function* exportLines(store: SessionStore, id: string, redactor?: Redactor): AsyncGenerator<string, void> {
  const { exportSession } = await import('../../sessions/export.ts')
  if (!redactor) return yield* exportSession(store, id)
  // Read twice: a secret that is found in one place is removed from all.
  const learn = (line: Line): void => redactor.learn(textOfBlob(line) ?? line)
  for await (const line of exportSession(store, id)) learn(JSON.parse(line) as Line)
  for await (const line of exportSession(store, id)) {
    const parsed = JSON.parse(line) as Line
    learn(parsed) // it may be newer than what was read before
    yield `${JSON.stringify(redacted(parsed, redactor))}\n`
  }
}

/** A blob whose bytes change gets a new name when it is imported. */
function redacted(line: Line, redactor: Redactor): unknown {
  const text = textOfBlob(line)
  if (text === undefined) return line.libero === undefined ? redactor.json(line) : line
  const clean = redactor.text(text)
  return clean === text ? line : { ...line, data: Buffer.from(clean, 'utf8').toString('base64') }
}

/** Blobs are in base64; `undefined` if the bytes are not text. */
function textOfBlob({ libero, data }: Line): string | undefined {
  if (libero !== 'blob' || typeof data !== 'string') return undefined
  const bytes = Buffer.from(data, 'base64')
  const text = bytes.toString('utf8')
  return Buffer.from(text, 'utf8').equals(bytes) ? text : undefined
}
