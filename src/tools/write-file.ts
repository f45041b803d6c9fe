import type { PreviewContext, ToolCheck, ToolContext, ToolDef, ToolPreview } from '../core/tool.ts'
import { readAll, withFile } from '../platform/files-of.ts'
import { parentKey } from './approval-keys.ts'
import { type ChangeResult, type CurrentFile, changeFile, maxEditableBytes, previewFile } from './change-file.ts'
import { type CountedDiff, countedDiff, diffWithNote } from './text/diff.ts'
import { utf8 } from './text/encoding.ts'

const description = `Writes a whole file, exactly as given: a new one, with the folders it needs, or one that replaces an existing file.
To change part of a file, use an edit instead.`

/** Larger files are not shown on screens. */
const maxPriorContentBytes = 1024 * 1024
/** No diff is made of larger files. */
const maxComparedBytes = 16 * 1024 * 1024

export interface WriteFileInput {
  readonly path: string
  readonly content: string
}

/** A tool that writes whole files. It skips content that is already there, and never overwrites a change made meanwhile. */
export const writeFile: ToolDef<WriteFileInput> = {
  spec: {
    name: 'write_file',
    description,
    inputSchema: {
      type: 'object',
      properties: {
        path: { type: 'string', description: 'The file; a relative path counts from the working directory.' },
        content: { type: 'string', description: 'The whole content of the file.' },
      },
      required: ['path', 'content'],
    },
  },
  isConcurrencySafe: false,
  replay: 'keyed',
  effects: ['fs.write'],
  timeoutMs: 30_000,
  touches: ({ path }) => [{ path, access: 'write' }],
  deriveApprovalKey: ({ path }) => parentKey(path),
  check: refuseUnpairedSurrogates,
  preview: ({ path, content }, ctx) => previewOf(path, content, ctx),
  before: ({ path }, ctx) => priorContent(path, ctx),
  async execute({ path, content }, ctx) {
    const bytes = Buffer.from(content)
    const changed = await changeFile(ctx, { path, access: 'write' }, async (current) => {
      const before = current ? await comparableBytes(current, bytes) : null
      return before && Buffer.compare(before, bytes) === 0 ? { value: before } : { value: before, content: bytes }
    })
    const diff = changed.outcome === 'changed' && (await diffOf(path, changed.value, content))
    return {
      output: answerOf(path, changed, content),
      details: { file: changed.file, ...(diff && { diff: diffWithNote(diff) }) },
    }
  },
}

/** No UTF-8 file can contain an unpaired surrogate, so writing one would change the content. */
function refuseUnpairedSurrogates({ content }: Record<string, unknown>): ToolCheck | undefined {
  if (typeof content !== 'string' || content.isWellFormed()) return undefined
  const position = content.search(/\p{Surrogate}/u)
  const code = content.charCodeAt(position).toString(16)
  return {
    valid: false,
    error: `"content" has an unpaired surrogate (\\u${code}) at ${position}; write the whole character`,
  }
}

/** The content of the file before the write, if it is text and not too large. */
async function priorContent(path: string, ctx: ToolContext): Promise<{ priorContent?: string }> {
  try {
    return await withFile(ctx, path, async (file) => {
      const text = file.info.size <= maxPriorContentBytes ? utf8(await readAll(file)) : undefined
      return text === undefined || text.includes('\0') ? {} : { priorContent: text }
    })
  } catch {
    return {} // there is no such file, or the write itself reports the problem
  }
}

/** The bytes of the file, unless it is so large that it is not compared with the new content. */
async function comparableBytes({ info, bytes }: CurrentFile, content: Uint8Array): Promise<Uint8Array | undefined> {
  const isComparable = info.size <= maxComparedBytes || info.size === content.length
  return isComparable && info.size <= maxEditableBytes ? bytes() : undefined
}

function answerOf(path: string, changed: ChangeResult<unknown>, content: string): string {
  if (changed.outcome === 'no change') return `No change needed: ${path} already has exactly this content`
  const lines = lineCount(content)
  const size = lines === 1 ? '1 line' : `${lines} lines`
  const isLate = changed.outcome === 'written by earlier attempt'
  return `${changed.isNew ? 'Created' : 'Updated'} ${path} (${size}${isLate ? '; had been written before the interruption' : ''})`
}

/** `before` is `null` for a new file. Gives `undefined` if the contents are too large to compare, or not text. */
async function diffOf(
  path: string,
  before: Uint8Array | null | undefined,
  content: string,
): Promise<CountedDiff | undefined> {
  if (Buffer.byteLength(content) > maxComparedBytes) return undefined
  const text = before === null ? '' : before && utf8(before)
  return text === undefined ? undefined : countedDiff(path, text, content)
}

async function previewOf(path: string, content: string, ctx: PreviewContext): Promise<ToolPreview> {
  return previewFile(ctx, path, async (current) => {
    const before = current && (current.info.size <= maxComparedBytes ? await current.bytes() : undefined)
    const diff = await diffOf(path, current ? before : null, content)
    return { files: [{ path, change: current ? 'replace' : 'create', ...diff }] }
  })
}

function lineCount(text: string): number {
  let newlines = 0
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) newlines++
  return text === '' || text.endsWith('\n') ? newlines : newlines + 1
}
