import type { JsonSchema, PreviewContext, ToolCheck, ToolContext, ToolPreview, TouchedFile } from '../core/tool.ts'
import { type CurrentFile, changeFile, maxEditableBytes, noSuchFile, previewFile } from './keyed-write.ts'
import type { NotReplaced, Replaced, ReplaceOptions, TextEdit } from './matching/replace.ts'
import { yieldToEventLoop } from './serial-queue.ts'
import { type CountedDiff, countedDiff, diffWithNote } from './text/diff.ts'
import type { LosslessText } from './text/encoding.ts'

/** One edit as a model writes it. */
export interface EditInput {
  readonly old_string: string
  readonly new_string: string
  readonly replace_all?: boolean
}

/** An edit that was made, without the resulting text: keeping that of every edit would take too much memory. */
export type EditSummary = Omit<Replaced, 'text'>

/** The outcome of the edits of one call. */
type EditOutcome =
  | { readonly type: 'edited'; readonly edits: readonly EditSummary[]; readonly details: EditDetails }
  /** An earlier attempt of this call wrote the file before its process died; this attempt changed nothing. */
  | { readonly type: 'edited by earlier attempt'; readonly details: Pick<EditDetails, 'file'> }
  /** The edit with this index cannot be made, so none was. */
  | Refusal

/** The details of edits that were made, for screens. */
export interface EditDetails {
  readonly file: TouchedFile
  readonly replacements: number
  /** Covers everything that changed in the file. */
  readonly diff: string
}

/** Makes all of the edits, each on the result of the one before, or none. Throws if the file does not exist. */
export async function editFile(ctx: ToolContext, path: string, inputs: readonly EditInput[]): Promise<EditOutcome> {
  const computed: { edits?: ComputedEdits | Refusal } = {}
  const changed = await changeFile(ctx, { path, access: 'edit' }, async (current) => {
    const file = await readEditable(current, path, inputs, ctx)
    const edits = await computeEdits(file, path, inputs, ctx)
    computed.edits = edits
    return edits.type === 'refused' || edits.text === file.text ? 'no change' : encode(path, edits)
  })
  const { file } = changed
  const { edits: plan } = computed
  // `changeFile` does not ask for a change if an earlier attempt had written the file.
  if (!plan) return { type: 'edited by earlier attempt', details: { file } }
  if (plan.type === 'refused') return plan
  const replacements = plan.edits.reduce((sum, { count }) => sum + count, 0)
  return { type: 'edited', edits: plan.edits, details: { file, replacements, diff: diffWithNote(plan) } }
}

/** The change that the edits would make to the file, or why one of them cannot be made. Changes nothing. */
export async function previewEdits(
  ctx: PreviewContext,
  path: string,
  inputs: readonly EditInput[],
): Promise<ToolPreview | Refusal> {
  const plan = await previewFile(ctx, path, async (current) =>
    computeEdits(await readEditable(current, path, inputs, ctx), path, inputs, ctx),
  )
  if (plan.type === 'refused') return plan
  encode(path, plan) // throws if the file would become too large
  const { diff, added, removed, moreLines = 0 } = plan
  return { files: [{ path, change: 'edit', added, removed, diff, ...(moreLines > 0 && { moreLines }) }] }
}

/** The fields of one edit. */
export const editProperties: JsonSchema = {
  old_string: { type: 'string', description: 'The text to replace, exactly as it is in the file.' },
  new_string: { type: 'string', description: 'The text to replace it with.' },
  replace_all: { type: 'boolean', description: 'Replace every occurrence. Default false: there must be exactly one.' },
}

/** Refuses an unpaired surrogate: no UTF-8 file can contain one, and no edit may cut a pair in half. */
export function refuseUnpairedSurrogates(input: Readonly<Record<string, unknown>>): ToolCheck | undefined {
  for (const field of ['old_string', 'new_string']) {
    const value = input[field]
    if (typeof value !== 'string' || value.isWellFormed()) continue
    const position = value.search(/\p{Surrogate}/u)
    const code = value.charCodeAt(position).toString(16)
    return {
      valid: false,
      error: `"${field}" has an unpaired surrogate (\\u${code}) at ${position}; write the whole character`,
    }
  }
  return undefined
}

interface Refusal {
  readonly type: 'refused'
  readonly index: number
  readonly reason: string
}

interface ComputedEdits extends CountedDiff {
  readonly type: 'computed'
  readonly file: LosslessText
  /** The text of the file after all edits. */
  readonly text: string
  readonly edits: readonly EditSummary[]
}

/** Throws if the file does not exist, or cannot be edited as text without changing other bytes. */
async function readEditable(
  current: CurrentFile | undefined,
  path: string,
  [first]: readonly EditInput[],
  ctx: PreviewContext,
): Promise<LosslessText> {
  if (!current && first?.old_string === '') throw new Error(`there is no "${path}"; create it with write_file`)
  if (!current) throw await noSuchFile(path, ctx)
  const bytes = await current.bytes()
  const { losslessText } = await import('./text/encoding.ts')
  const file = losslessText(bytes)
  if (!file) throw new Error(`"${path}" is not a text file, so it cannot be edited; use a command instead`)
  // A context without `openFile` decodes the file itself and has replaced the bytes that it could not decode.
  if (!ctx.execution.openFile && file.text.includes('\uFFFD'))
    throw new Error(
      `"${path}" contains bytes that are not UTF-8, or the character U+FFFD, and cannot be edited here without damage; use a command instead`,
    )
  return file
}

/** Computes the diff too: after the file is written, nothing slow may delay the answer. */
async function computeEdits(
  file: LosslessText,
  path: string,
  inputs: readonly EditInput[],
  { signal }: PreviewContext,
): Promise<ComputedEdits | Refusal> {
  const edits: EditSummary[] = []
  const { replaceText } = await import('./matching/replace.ts')
  const options: ReplaceOptions = {
    display: file.display,
    // A character takes at least one byte, so a longer text is too large as well.
    maxLength: maxEditableBytes,
    reportLines: inputs.length === 1,
  }
  const replace: Replace = (text, edit) => replaceText(text, edit, options)
  let { text } = file
  let since = performance.now()
  for (const [index, input] of inputs.entries()) {
    const result = applyEdit(file, text, input, replace)
    if (result.type === 'refused') return { type: 'refused', index, reason: result.reason }
    const { text: edited, ...edit } = result
    edits.push(edit)
    text = edited
    if (performance.now() - since < maxBlockMs) continue
    await yieldToEventLoop(signal)
    since = performance.now()
  }
  const diff = await countedDiff(path, file.display(file.text), file.display(text))
  return { type: 'computed', file, text, edits, ...diff }
}

/** The event loop is blocked at most this long, unless a single edit takes longer. */
const maxBlockMs = 50

function encode(path: string, { file, text }: ComputedEdits): Uint8Array {
  const bytes = file.encode(text)
  if (bytes.length <= maxEditableBytes) return bytes
  throw new Error(
    `"${path}" was left as it is: it would have ${bytes.length} bytes, more than the maximum of ${maxEditableBytes} for an edit; use a command instead`,
  )
}

type Replace = (text: string, edit: TextEdit) => Replaced | NotReplaced

function applyEdit(file: LosslessText, text: string, input: EditInput, replace: Replace): Replaced | NotReplaced {
  const { old_string, new_string, replace_all: all = false } = input
  if (file.encoding !== 'unknown') return replace(text, { old: old_string, new: new_string, all })
  // The file mixes encodings. If old_string has non-ASCII characters and matches, that part is UTF-8. If it is plain ASCII,
  // it does not show how to encode non-ASCII new text.
  if (!isAscii(new_string) && isAscii(old_string))
    return {
      type: 'refused',
      reason:
        'new_string has non-ASCII characters, and parts of the file are not UTF-8, so their encoding here is unknown; use a command instead',
    }
  const result = replace(text, { old: file.toFileText(old_string), new: file.toFileText(new_string), all })
  if (result.type === 'replaced' || !old_string.includes('\uFFFD')) return result
  return {
    ...result,
    reason: `${result.reason}\n\uFFFD stands for bytes that are not UTF-8; old_string cannot contain them, so leave them out`,
  }
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: all of ASCII
const isAscii = (text: string): boolean => /^[\x00-\x7f]*$/.test(text)
