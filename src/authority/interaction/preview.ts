import type { Decision } from '../../core/authority.ts'
import { confinedExecution } from '../../core/confined-execution.ts'
import { messageOf } from '../../core/errors.ts'
import type { HookContexts } from '../../core/hook-map.ts'
import type { Run } from '../../core/run.ts'
import type { EditPreview, FilePreview, ToolDef, ToolPreview } from '../../core/tool.ts'
import { copyJson } from '../../core/turn.ts'
import { placeholder, type Redactor } from '../../platform/redact.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import type { JudgedCall } from '../judged-call.ts'
import { isForeign } from '../prepare-call.ts'

/** A tool's preview for a prompt that is logged and shown: bounded, with visible control characters, without secrets. */
function shownPreview({ files }: ToolPreview, redactor: Redactor | undefined): ToolPreview {
  return { files: files.slice(0, mostFiles).map((file) => shownFile(file, redactor)) }
}

/** The change to a file, in one line. */
export function changeHeading({ path, change, added, removed, diff }: FilePreview): string {
  const counts = added === undefined || removed === undefined ? '' : `: +${added} −${removed}`
  if (change === 'create') return `creates ${path}, a new file${counts}`
  if (diff === '') return `leaves ${path} as it is: it holds exactly this already`
  if (change === 'edit') return `edits ${path}${counts}`
  return `replaces all of ${path}, which exists${counts || '; what it holds cannot be compared'}`
}

const mostFiles = 20
const mostLines = 400
const mostChars = 32_768

function shownFile(file: FilePreview, redactor: Redactor | undefined): FilePreview {
  const { path, change, edits } = file
  const each = edits?.map((one) => shownChange(one, redactor, { lines: mostEditLines, chars: mostEditChars }))
  return {
    ...{ path: fullyVisible(path), change },
    ...shownChange(file, redactor, { lines: mostLines, chars: mostChars }),
    ...(each && { edits: each }),
  }
}

const mostEditLines = 80
const mostEditChars = 8192

function shownChange(
  { added, removed, diff, moreLines = 0 }: EditPreview,
  redactor: Redactor | undefined,
  most: { readonly lines: number; readonly chars: number },
): EditPreview {
  const counts = { ...(added !== undefined && { added }), ...(removed !== undefined && { removed }) }
  if (diff === undefined) return counts
  const lines = bodyOf(diff)
  const shown = firstLines(lines, most)
  const left = lines.length - shown.length + moreLines
  return { ...counts, diff: maskedText(shown.join('\n'), redactor), ...(left > 0 && { moreLines: left }) }
}

/** Masks secrets and makes control characters visible. Keeps newlines. */
function maskedText(text: string, redactor: Redactor | undefined): string {
  const masked = redactor ? maskSecrets(text, redactor) : text
  return fullyVisible(masked, { lines: 'kept' })
}

/** The diff from its first hunk on; the file name is shown separately. */
function bodyOf(diff: string): readonly string[] {
  const lines = diff.replace(/\n$/, '').split('\n')
  const first = lines.findIndex((line) => line.startsWith('@@'))
  return first < 0 ? [] : lines.slice(first)
}

function firstLines(lines: readonly string[], most: { readonly lines: number; readonly chars: number }): string[] {
  const shown: string[] = []
  let chars = 0
  for (const line of lines.slice(0, most.lines)) {
    chars += line.length + 1
    if (chars > most.chars) break
    shown.push(line)
  }
  return shown
}

/**
 * Masks secrets in a prompt, and nothing else: only a text that is a secret by itself, or a value after its name within
 * the same word. A redactor for logs hides too much, and with it what a command does: in `password= ./evil` the program,
 * in `TOKEN=abcdef&&curl` the second command.
 */
export function maskSecrets(text: string, redactor: Redactor): string {
  const parts = text.split(between)
  const redacted = redactor.pieces(parts)
  let masked = ''
  for (let i = 0; i < parts.length; ) {
    const from = i
    while (i < parts.length && redacted[i] !== parts[i]) i++
    masked += i === from ? parts[i++] : maskedRun(parts.slice(from, i), redactor)
  }
  return masked
}

/** Characters that end a word in a shell or another language. `split` keeps them. */
const between = /([^\w.+/=~@%:,-]+)/

/** Masks adjacent parts in which the redactor found something. */
function maskedRun(parts: readonly string[], redactor: Redactor): string {
  const run = parts.join('')
  const masked = redactor.text(run)
  const [before = '', after, ...more] = masked.split(placeholder)
  const secret = run.slice(before.length, run.length - (after?.length ?? 0))
  const isOne = after !== undefined && more.length === 0 && isSecretAlone(secret, redactor)
  return isOne ? masked : parts.map((part) => redactor.text(part)).join('')
}

function isSecretAlone(text: string, redactor: Redactor): boolean {
  // A private key is recognised by its first and last line, and any text could stand between them.
  return !text.includes('-----BEGIN') && redactor.text(text).replace(placeholder, '') === ''
}

/** What is known about a call before a person is asked. */
export interface Previewed {
  readonly preview?: ToolPreview
  /** Why it would fail, shown to the person. */
  readonly wouldFail?: string
  /** The tool's error, for the model. */
  readonly error?: string
}

/** Asks a tool what its call would change. Tools of a project or a server are not run before they are allowed. */
export async function previewCall(
  tool: ToolDef,
  { call: { input, origin }, decision: { confinement } }: { readonly call: JudgedCall; readonly decision: Decision },
  { host: { execution: open, handle }, cancellation: stop }: Run,
  redactor: Redactor | undefined,
): Promise<Previewed> {
  if (!tool.preview || !open || !handle || isForeign(origin)) return {}
  // A preview changes nothing, and the person has not decided yet.
  const execution = typeof confinement === 'object' ? confinedExecution(open, confinement) : open
  try {
    const preview = await tool.preview(copyJson(input), { execution, handle, signal: stop.signal })
    return preview ? { preview: shownPreview(preview, redactor) } : {}
  } catch (error) {
    if (stop.isCancelled) throw error
    const message = messageOf(error)
    return { wouldFail: maskedText(message, redactor), error: message }
  }
}

/** Asks the handlers of `approval:before` whether the call can work. Returns the reason if one says no. */
export async function refusalByHooks(
  ctx: HookContexts['tool:gate'],
  tool: ToolDef,
  { hooks }: Run,
): Promise<string | undefined> {
  if (!hooks.has('approval:before')) return undefined
  const { turnId, callId, name, displayName, input, parentCallId } = ctx
  const about = { turnId, callId, name, displayName, input, tool, ...(parentCallId !== undefined && { parentCallId }) }
  const asked: HookContexts['approval:before'] = { ...about, block: false, reason: '' }
  await hooks.ask('approval:before', asked)
  return asked.block ? asked.reason : undefined
}

/**
 * The call as if it only read its files. A preview error reveals file content, so the model gets it without an approval
 * only where such a read needs none.
 */
export function asReadOnlyCall(call: JudgedCall): JudgedCall {
  const files = call.effects.filter(({ effect }) => effect === 'fs.read' || effect === 'fs.write')
  const effects = files.map((fact) => ({ ...fact, effect: 'fs.read' as const }))
  // Without a name: a rule about the tool concerns its effects, not reading.
  return { ...call, tool: '', key: '', gated: true, effects: effects.length > 0 ? effects : [{ effect: 'unknown' }] }
}
