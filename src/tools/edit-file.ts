import type { JsonSchema, PreviewContext, ToolCheck, ToolContext, ToolPreview, TouchedFile } from '../core/tool.ts'
import { othersIn } from './event-loop.ts'
import { changeFile, mostChanged, type PresentFile, previewFile } from './keyed-write.ts'
import type { LosslessText } from './matching/lossless-text.ts'
import type { NotReplaced, Replaced, ReplaceOptions, TextEdit } from './matching/replace.ts'
import { type CountedDiff, countedDiff, notedDiff } from './text/diff.ts'

/** One edit as a model writes it. */
export interface EditInput {
  readonly old_string: string
  readonly new_string: string
  readonly replace_all?: boolean
}

/** An edit that was made, without the text it made: of a large file there is no room for many. */
export type MadeEdit = Omit<Replaced, 'text'>

/** What became of the edits. */
export type EditedFile =
  | { readonly type: 'edited'; readonly edits: readonly MadeEdit[]; readonly details: EditDetails }
  /** This call had made its edits before its process died; nothing was done now. */
  | { readonly type: 'edited before'; readonly details: Pick<EditDetails, 'file'> }
  /** The edit with this index cannot be made, so none was. */
  | { readonly type: 'refused'; readonly index: number; readonly reason: string }

/** What screens are told of edits that were made. */
export interface EditDetails {
  readonly file: TouchedFile
  readonly replacements: number
  /** Of what changed in the file, whatever was asked for. */
  readonly diff: string
}

/** Makes all of the edits, each on the result of the one before, or none. */
export async function editFile(ctx: ToolContext, path: string, inputs: readonly EditInput[]): Promise<EditedFile> {
  const plan: { made?: DiffedEdits | Refusal } = {}
  const changed = await changeFile(ctx, { path, access: 'edit' }, async (present) => {
    const content = await contentOf(present, path, inputs, ctx)
    if (!content) return 'no change'
    const made = await madeOf(content, path, inputs, ctx)
    plan.made = made
    return made.type === 'refused' || made.text === content.text ? 'no change' : encoded(path, made)
  })
  const { file } = changed
  const { made } = plan
  if (!made) return { type: 'edited before', details: { file } }
  if (made.type === 'refused') return made
  const { edits } = made
  const diff = notedDiff(made)
  const replacements = edits.reduce((sum, { count }) => sum + count, 0)
  return { type: 'edited', edits, details: { file, replacements, diff } }
}

/** What the edits would make of the file, or why one of them cannot be made. Changes nothing. */
export async function previewEdits(
  ctx: PreviewContext,
  path: string,
  inputs: readonly EditInput[],
): Promise<ToolPreview | Refusal> {
  const made = await previewFile(ctx, path, async (present) => {
    const content = await contentOf(present, path, inputs, ctx)
    return content && (await madeOf(content, path, inputs, ctx))
  })
  if (made.type === 'refused') return made
  encoded(path, made) // throws where the file would become too large
  const { diff, added, removed, moreLines = 0 } = made
  return { files: [{ path, change: 'edit', added, removed, diff, ...(moreLines > 0 && { moreLines }) }] }
}

/** The fields of one edit. */
export const editProperties: JsonSchema = {
  old_string: { type: 'string', description: 'The text to replace, exactly as it is in the file.' },
  new_string: { type: 'string', description: 'What takes its place.' },
  replace_all: { type: 'boolean', description: 'Replace every occurrence. Default false: there must be exactly one.' },
}

/** No file can hold half of a surrogate pair, and none is to be cut in half. */
export function refuseHalfCharacters(input: Readonly<Record<string, unknown>>): ToolCheck | undefined {
  for (const field of ['old_string', 'new_string']) {
    const value = input[field]
    if (typeof value !== 'string' || value.isWellFormed()) continue
    const at = value.search(/\p{Surrogate}/u)
    const code = value.charCodeAt(at).toString(16)
    return { valid: false, error: `"${field}" has half a character (\\u${code}) at ${at}; write the whole character` }
  }
  return undefined
}

type Refusal = Extract<EditedFile, { type: 'refused' }>

type DiffedEdits = MadeEdits & CountedDiff

interface MadeEdits {
  readonly type: 'made'
  readonly content: LosslessText
  readonly text: string
  readonly edits: readonly MadeEdit[]
}

/** `undefined` when there is no file. */
async function contentOf(
  present: PresentFile | undefined,
  path: string,
  [first]: readonly EditInput[],
  { execution }: PreviewContext,
): Promise<LosslessText | undefined> {
  if (!present && first?.old_string === '') throw new Error(`there is no "${path}"; create it with write_file`)
  if (!present) return undefined
  const bytes = await present.bytes()
  const { losslessText } = await import('./matching/lossless-text.ts')
  const content = losslessText(bytes)
  if (!content) throw new Error(`"${path}" is not a text file, so it cannot be edited; use a command instead`)
  // Such a context decodes for us, and what it could not decode is lost to us.
  if (!execution.openFile && content.text.includes('\uFFFD'))
    throw new Error(
      `"${path}" holds bytes that are not UTF-8, or the character U+FFFD, and cannot be edited here without damage; use a command instead`,
    )
  return content
}

/** The diff is made here: once the file is written, nothing that takes long may come between that and the answer. */
async function madeOf(
  content: LosslessText,
  path: string,
  inputs: readonly EditInput[],
  ctx: PreviewContext,
): Promise<DiffedEdits | Refusal> {
  const made = await applied(content, inputs, ctx)
  if (made.type === 'refused') return made
  return { ...made, ...(await countedDiff(path, content.shown(content.text), content.shown(made.text))) }
}

async function applied(
  content: LosslessText,
  inputs: readonly EditInput[],
  { signal }: PreviewContext,
): Promise<MadeEdits | Refusal> {
  const edits: MadeEdit[] = []
  const { replaceText } = await import('./matching/replace.ts')
  const options: ReplaceOptions = { shown: content.shown, most: mostChanged, named: inputs.length === 1 }
  const replace: Replace = (text, edit) => replaceText(text, edit, options)
  let { text } = content
  let since = performance.now()
  for (const [index, input] of inputs.entries()) {
    const result = appliedOne(content, text, input, replace)
    if (result.type === 'refused') return { type: 'refused', index, reason: result.reason }
    const { text: made, ...edit } = result
    edits.push(edit)
    text = made
    if (performance.now() - since < longestStretch) continue
    await othersIn(signal)
    since = performance.now()
  }
  return { type: 'made', content, text, edits }
}

/** So many milliseconds others wait while edits are worked out, if one of them does not take longer. */
const longestStretch = 50

function encoded(path: string, { content, text }: MadeEdits): Uint8Array {
  const bytes = content.encode(text)
  if (bytes.length <= mostChanged) return bytes
  throw new Error(
    `"${path}" was left as it is: it would have ${bytes.length} bytes, more than the ${mostChanged} that can be changed in one piece; use a command instead`,
  )
}

type Replace = (text: string, edit: TextEdit) => Replaced | NotReplaced

function appliedOne(content: LosslessText, text: string, input: EditInput, replace: Replace): Replaced | NotReplaced {
  const { old_string, new_string, replace_all: all = false } = input
  if (content.encoding !== 'unknown') return replace(text, { old: old_string, new: new_string, all })
  // Where the old text is UTF-8 beyond ASCII, the place is, and the new text may be too.
  if (!isAscii(new_string) && isAscii(old_string))
    return {
      type: 'refused',
      reason:
        'new_string has characters beyond ASCII, and the file is not all UTF-8, so nobody knows how to write them there; use a command instead',
    }
  const edit: TextEdit = { old: content.own(old_string), new: content.own(new_string), all }
  const result = replace(text, edit)
  if (result.type === 'replaced' || !old_string.includes('\uFFFD')) return result
  return {
    ...result,
    reason: `${result.reason}\nWhat is shown as \uFFFD are bytes that are not UTF-8; they cannot be given in old_string, so leave them out`,
  }
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: all of ASCII
const isAscii = (text: string): boolean => /^[\x00-\x7f]*$/.test(text)
