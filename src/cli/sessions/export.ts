import { lstatSync } from 'node:fs'
import { extname, resolve } from 'node:path'
import type { SessionStore } from '../../core/store.ts'
import { writeFileAtomic } from '../../platform/files.ts'
import { createRedactor, type Redactor } from '../../platform/redact.ts'
import { visibleName } from '../../platform/visible-text.ts'
import { CliError, exitCodes } from '../cli-error.ts'
import type { Io } from '../io.ts'
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
  const text = await withStore(io, async (store) =>
    exportText(store, await findSession(store, idOrPrefix), format, redactor),
  )
  if (path === undefined) io.stdout.write(text)
  else {
    await writeFileAtomic(path, text)
    io.err(`Wrote ${visibleName(output!)}`)
  }
  return exitCodes.done
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

async function exportText(store: SessionStore, id: string, format: string, redactor?: Redactor): Promise<string> {
  if (format === 'jsonl') return exportLines(store, id, redactor)
  const transcript = await readTranscriptView(store, id, redactor)
  if (format === 'html') {
    const { transcriptPage } = await import('./page/transcript-page.ts')
    return transcriptPage(transcript, { isRedacted: redactor !== undefined })
  }
  return (await import('./markdown/transcript-markdown.ts')).transcriptMarkdown(transcript)
}

type Line = Readonly<Record<string, unknown>>

/** A session as JSON Lines that can be imported again; the redactor removes secrets. */
export async function exportLines(store: SessionStore, id: string, redactor?: Redactor): Promise<string> {
  const { exportSession } = await import('../../sessions/export.ts')
  const lines: string[] = []
  for await (const line of exportSession(store, id)) lines.push(line)
  if (!redactor) return lines.join('')
  // One line at a time, because parsed lines take much more memory.
  for (const line of lines) {
    const parsed = JSON.parse(line) as Line
    redactor.learn(textOfBlob(parsed) ?? parsed)
  }
  return lines.map((line) => `${JSON.stringify(redacted(JSON.parse(line) as Line, redactor))}\n`).join('')
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
