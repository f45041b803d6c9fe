import { lstatSync } from 'node:fs'
import { extname, resolve } from 'node:path'
import type { SessionStore } from '../../core/store.ts'
import { writeFileAtomic } from '../../platform/files.ts'
import { createRedactor, type Redactor } from '../../platform/redact.ts'
import { visibleName } from '../../platform/visible-text.ts'
import { CliError } from '../cli-error.ts'
import { exitCodes } from '../exit-codes.ts'
import type { Io } from '../io.ts'
import { findSession } from './find-session.ts'
import { readStory } from './story/story.ts'
import { requireId, withStore } from './users-store.ts'

interface Exporting {
  readonly values: {
    readonly format?: string
    readonly output?: string
    readonly force?: boolean
    readonly 'with-secrets'?: boolean
  }
  readonly words: readonly string[]
}

/** `libero sessions export`. */
export async function exportOne({ values, words }: Exporting, io: Io): Promise<number> {
  const asked = requireId(words, 'export')
  const { output } = values
  const path = output === undefined || output === '-' ? undefined : resolve(io.cwd, output)
  if (path !== undefined && !values.force) refuseExisting(path, output!)
  const format = values.format ?? formats[extname(output ?? '').toLowerCase()] ?? 'md'
  const redactor = values['with-secrets'] ? undefined : createRedactor({ env: io.env })
  const text = await withStore(io, async (store) => written(store, await findSession(store, asked), format, redactor))
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

/** Against mistakes, not against somebody who makes the file in the same moment. */
function refuseExisting(path: string, name: string): void {
  if (lstatSync(path, { throwIfNoEntry: false }))
    throw new CliError(`${visibleName(name)} is there already; choose another name, or replace it with --force`)
}

async function written(
  store: SessionStore,
  id: string,
  format: string,
  redactor: Redactor | undefined,
): Promise<string> {
  if (format === 'jsonl') return (await import('./export-lines.ts')).exportLines(store, id, redactor)
  const story = await readStory(store, id, redactor)
  if (format === 'html')
    return (await import('./page/story-page.ts')).storyPage(story, { isRedacted: redactor !== undefined })
  return (await import('./markdown/story-markdown.ts')).storyMarkdown(story)
}
