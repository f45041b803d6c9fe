import type { PreviewContext, ToolCheck, ToolContext, ToolDef, ToolPreview } from '../core/tool.ts'
import { readAll, withFile } from '../platform/files-of.ts'
import { parentKey } from './approval-keys.ts'
import { type ChangedFile, changeFile, mostChanged, type PresentFile, previewFile } from './keyed-write.ts'
import { type CountedDiff, countedDiff, diffWithNote } from './text/diff.ts'
import { utf8 } from './text/encoding.ts'

const description = `Writes a whole file, exactly as given: a new one, with the folders it needs, or one that takes the place of what is there.
To change a part of a file use an edit instead.`

/** Larger files are not shown on screens. */
const mostPriorContent = 1024 * 1024
/** No diff is made of larger files. */
const mostCompared = 16 * 1024 * 1024

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
        content: { type: 'string', description: 'All that the file is to hold.' },
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
  check: refuseHalfCharacters,
  preview: ({ path, content }, ctx) => previewOf(path, content, ctx),
  before: ({ path }, ctx) => priorContent(path, ctx),
  async execute({ path, content }, ctx) {
    const bytes = Buffer.from(content)
    const changed = await changeFile(ctx, { path, access: 'write' }, async (present) =>
      present && (await holds(present, bytes)) ? 'no change' : bytes,
    )
    const diff = changed.outcome === 'changed' && (await diffOf(path, changed.isNew ? null : changed.before, content))
    return {
      output: answerOf(path, changed, content),
      details: { file: changed.file, ...(diff && { diff: diffWithNote(diff) }) },
    }
  },
}

/** No file can hold half of a surrogate pair, so writing one would change the content. */
function refuseHalfCharacters({ content }: Record<string, unknown>): ToolCheck | undefined {
  if (typeof content !== 'string' || content.isWellFormed()) return undefined
  const at = content.search(/\p{Surrogate}/u)
  const code = content.charCodeAt(at).toString(16)
  return { valid: false, error: `"content" has half a character (\\u${code}) at ${at}; write the whole character` }
}

/** The content of the file before the write, if it is text and not too large. */
async function priorContent(path: string, ctx: ToolContext): Promise<{ priorContent?: string }> {
  try {
    return await withFile(ctx, path, async (file) => {
      const text = file.info.size <= mostPriorContent ? utf8(await readAll(file)) : undefined
      return text === undefined || text.includes('\0') ? {} : { priorContent: text }
    })
  } catch {
    return {} // there is no such file, or the write itself reports the problem
  }
}

async function holds(present: PresentFile, content: Uint8Array): Promise<boolean> {
  const { size } = present.info
  if (size > mostCompared && size !== content.length) return false
  return size <= mostChanged && Buffer.compare(await present.bytes(), content) === 0
}

function answerOf(path: string, changed: ChangedFile, content: string): string {
  if (changed.outcome === 'no change') return `No change needed: ${path} holds exactly this already`
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
  if (Buffer.byteLength(content) > mostCompared) return undefined
  const text = before === null ? '' : before && utf8(before)
  return text === undefined ? undefined : countedDiff(path, text, content)
}

async function previewOf(path: string, content: string, ctx: PreviewContext): Promise<ToolPreview> {
  return previewFile(ctx, path, async (present) => {
    const before = present && (present.info.size <= mostCompared ? await present.bytes() : undefined)
    const diff = await diffOf(path, present ? before : null, content)
    return { files: [{ path, change: present ? 'replace' : 'create', ...diff }] }
  })
}

function lineCount(text: string): number {
  let newlines = 0
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) newlines++
  return text === '' || text.endsWith('\n') ? newlines : newlines + 1
}
