import { readFile } from 'node:fs/promises'
import { basename, resolve } from 'node:path'
import { codeOf } from '../../core/errors.ts'
import { imageInfo } from '../../platform/image-info.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import type { AttachedFile, AttachedTiddler, UserContent } from '../../plugins/message.ts'
import { CliError, UsageError } from '../cli-error.ts'
import type { Io } from '../io.ts'
import { readTask } from '../run/read-task.ts'

const mostBytes = 20 * 1024 * 1024

export interface MessageValues {
  readonly file?: string
  readonly attach?: readonly string[]
}

/** What somebody says to an agent: words, or what is piped in, with a file and pages of wikis. */
export async function readMessage(
  words: readonly string[],
  { file, attach = [] }: MessageValues,
  io: Io,
): Promise<UserContent | undefined> {
  const attached = file === undefined ? undefined : await readAttached(file, io.cwd)
  const wikiTiddlers = attach.map(readPage)
  const text = await readTask({ words, prompt: undefined }, io, 'task')
  if (text === undefined && !attached && wikiTiddlers.length === 0) return undefined
  return {
    text: text ?? '',
    ...(attached && { file: attached }),
    ...(wikiTiddlers.length > 0 && { wikiTiddlers }),
  }
}

/** `notes/My page`: the wiki, and everything behind the first slash. */
function readPage(named: string): AttachedTiddler {
  const slash = named.indexOf('/')
  const [workspaceName, tiddlerTitle] = [named.slice(0, slash), named.slice(slash + 1)]
  if (slash <= 0 || tiddlerTitle === '')
    throw new UsageError(`--attach ${fullyVisible(named)}: name a wiki and a page, as in --attach "notes/My page"`)
  return { workspaceName, tiddlerTitle }
}

async function readAttached(named: string, cwd: string): Promise<AttachedFile> {
  const shown = fullyVisible(named)
  const bytes = await readFile(resolve(cwd, named)).catch((error: unknown) => {
    const why = codeOf(error) === 'ENOENT' ? 'there is no such file' : `it cannot be read (${codeOf(error)})`
    throw new UsageError(`--file ${shown}: ${why}; name a picture or a PDF`, { cause: error })
  })
  if (bytes.length > mostBytes)
    throw new CliError(`--file ${shown} has ${bytes.length} bytes, and a file may have ${mostBytes}; make it smaller`)
  const data = bytes.toString('base64')
  const name = basename(named)
  const image = imageInfo(data)
  if (image) return { name, mediaType: image.type, data }
  if (bytes.subarray(0, 5).toString('latin1') === '%PDF-') return { name, mediaType: 'application/pdf', data }
  throw new UsageError(`--file ${shown} is no PNG, JPEG, GIF, WebP or PDF; put a text into the message itself`)
}
