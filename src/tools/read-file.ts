import type { OpenFile } from '../core/execution.ts'
import type { JsonSchema, ToolCheck, ToolContext, ToolDef, TouchedFile } from '../core/tool.ts'
import type { ToolOutput } from '../core/turn.ts'
import { contentIdOf } from '../platform/digest.ts'
import { withFile } from '../platform/files-of.ts'
import { parentKey } from './approval-keys.ts'
import { fileProblem, isFolder } from './file-problem.ts'
import { type Encoding, encodingOf } from './text/encoding.ts'
import { binaryKind, bytesText, readMedia } from './text/media.ts'
import { type Page, type PageRequest, readInBlocks, readPage } from './text/page.ts'

const description = `Reads a file.
Text comes in pages of whole lines; the last line tells which lines were shown and with which offset to go on.
Images (PNG, JPEG, GIF, WebP) and PDFs are shown as such; of other binary files only size and kind are told.
A number and a tab in front of a line are not part of the file, nor is the note in parentheses at the end. CRLF line ends are shown as newlines.`

/** Enough to recognize an image, see `imageInfo`. */
const headBytes = 65_536

/** A tool that reads files page by page, in any execution context. */
export function createReadFileTool({
  limit = 2000,
  maxBytes = 262_144,
}: {
  /** Default number of lines. Default 2000; 0 means no limit. */
  readonly limit?: number
  /** Default number of bytes. Default 262,144; 0 means the maximum of 32 MiB. */
  readonly maxBytes?: number
} = {}): ToolDef {
  return {
    spec: { name: 'read_file', description, inputSchema: inputSchema(limit, maxBytes) },
    isConcurrencySafe: true,
    replay: 'pure',
    effects: ['fs.read'],
    timeoutMs: 30_000,
    touches: ({ path }) => [{ path, access: 'read' }],
    deriveApprovalKey: ({ path }) => parentKey(path),
    check: refuseNegative,
    async execute(input, ctx) {
      const { path, offset = 1 } = input
      const request = {
        offset: Math.max(offset, 1),
        limit: input.limit ?? limit,
        maxBytes: input.maxBytes ?? maxBytes,
        isNumbered: ctx.behavior.readLineNumbers,
      }
      try {
        return await withFile(ctx, path, async (opened) => {
          const file = readInBlocks(opened, ctx.signal)
          const { output, details } = await show(file, path, request)
          const slice = `${request.offset}:${request.limit}:${request.maxBytes}:${request.isNumbered}`
          const digest = await contentIdOf(file)
          const touched: TouchedFile = { path, access: 'read', key: file.info.key, digest, slice }
          return { output, details: { ...details, file: touched } }
        })
      } catch (error) {
        throw await readProblem(error, path, ctx)
      }
    },
  }
}

export const readFile: ToolDef = createReadFileTool()

function inputSchema(limit: number, maxBytes: number): JsonSchema {
  return {
    type: 'object',
    properties: {
      path: { type: 'string', description: 'The file; a relative path counts from the working directory.' },
      offset: { type: 'integer', description: 'The first line to show, from 1. Default 1.' },
      limit: { type: 'integer', description: `How many lines at most. Default ${limit}; 0 for no limit.` },
      maxBytes: { type: 'integer', description: `How many bytes at most. Default ${maxBytes}; 0 for no limit.` },
    },
    required: ['path'],
  }
}

function refuseNegative(input: Record<string, unknown>): ToolCheck | undefined {
  for (const field of ['offset', 'limit', 'maxBytes']) {
    const value = input[field]
    if (typeof value === 'number' && value < 0)
      return { valid: false, error: `"${field}" must not be negative, got ${value}` }
  }
  return undefined
}

interface Shown {
  readonly output: ToolOutput
  readonly details?: { readonly lines?: { first: number; last: number; total?: number }; readonly bytes?: number }
}

async function show(file: OpenFile, path: string, request: PageRequest): Promise<Shown> {
  const { kind, size } = file.info
  if (kind !== 'file') throw new Error(`"${path}" is not a regular file, so it cannot be read`)
  const head = await file.read(0, headBytes)
  const media = await readMedia(file, path, head)
  if (media !== undefined) return { output: media, details: { bytes: size } }
  const encoding = encodingOf(head)
  if (!encoding)
    return {
      output: `[binary file: ${bytesText(size)}, ${binaryKind(head) ?? 'no text in UTF-8'}]`,
      details: { bytes: size },
    }
  const page = await readPage(file, encoding, request)
  if (page === 0 && request.offset === 1) return { output: '(empty file)', details: { bytes: 0 } }
  if (typeof page === 'number')
    throw new Error(
      `offset ${request.offset} is beyond the end: "${path}" has ${page} ${page === 1 ? 'line' : 'lines'}`,
    )
  const { first, last, total, bytes } = page
  const lines = { first, last, ...(total !== undefined && { total }) }
  return { output: textOf(page, encoding, request), details: { lines, bytes } }
}

function textOf(page: Page, encoding: Encoding, { isNumbered }: PageRequest): string {
  const { lines, first } = page
  // Only a CR before a newline is part of a line end.
  const ended = page.endsWithNewline ? lines.length : lines.length - 1
  let crlf = 0
  const shown = lines.map((line, i) => {
    const isCrlf = i < ended && line.endsWith('\r')
    if (isCrlf) crlf++
    const text = isCrlf ? line.slice(0, -1) : line
    return isNumbered ? `${first + i}\t${text}` : text
  })
  const text = shown.join('\n')
  const notes = [...rangeNotes(page), ...contentNotes(text, page, encoding, crlf)]
  return notes.length > 0 ? `${text.replaceAll('\0', '␀')}\n\n(${notes.join('; ')})` : text
}

/** The range that was shown and how to continue; empty if everything was shown. */
function rangeNotes({ first, last, next, total, cutLine, bytes }: Page): string[] {
  const notes: string[] = []
  const range = first === last ? `line ${first}` : `lines ${first}-${last}`
  if (first > 1 || next !== undefined) notes.push(`${range}${total === undefined ? ', more follow' : ` of ${total}`}`)
  if (cutLine !== undefined)
    notes.push(
      `line ${first} is ${bytesText(cutLine)} long, only its first ${bytesText(bytes)} are shown; for more of it re-read with a larger maxBytes`,
    )
  if (next !== undefined) notes.push(`${cutLine === undefined ? '' : 'for the next line '}re-read with offset=${next}`)
  return notes
}

/** Properties that the shown text hides and an edit must know. */
function contentNotes(text: string, page: Page, { name }: Encoding, crlf: number): string[] {
  const notes: string[] = []
  if (name !== 'utf-8') notes.push(`the file is in ${name.toUpperCase()}`)
  if (crlf > 0) notes.push(crlf === page.lines.length ? 'CRLF line ends' : `${crlf} of these lines end with CRLF`)
  if (text.includes('\ufffd')) notes.push('what is not valid in its encoding is shown as \ufffd')
  if (text.includes('\0')) notes.push('NUL bytes are shown as ␀')
  const isEnd = page.next === undefined && page.cutLine === undefined
  if (isEnd && !page.endsWithNewline) notes.push('no newline at the end')
  return notes
}

async function readProblem(error: unknown, path: string, ctx: ToolContext): Promise<Error> {
  if (await isFolder(error, path, ctx)) return new Error(`"${path}" is a folder; see what is in it with list_files`)
  return fileProblem(error, path, ctx)
}
