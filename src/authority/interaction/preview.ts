import { messageOf } from '../../core/errors.ts'
import type { HookContexts } from '../../core/hook-map.ts'
import type { Run } from '../../core/run.ts'
import type { FilePreview, ToolDef, ToolPreview } from '../../core/tool.ts'
import { copyJson } from '../../core/turn.ts'
import { placeholder, type Redactor } from '../../platform/redact.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import type { JudgedCall } from '../judged-call.ts'
import { isForeign } from '../prepare-call.ts'

/** A tool's preview, fit for a question that is kept in a log and sent to screens: bounded, harmless, without secrets. */
function shownPreview({ files }: ToolPreview, redactor: Redactor | undefined): ToolPreview {
  return { files: files.slice(0, mostFiles).map((file) => shownFile(file, redactor)) }
}

/** What would become of a file, on one line. */
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
  const { path, change, added, removed, diff, moreLines = 0 } = file
  const counts = { ...(added !== undefined && { added }), ...(removed !== undefined && { removed }) }
  const about = { path: fullyVisible(path), change, ...counts }
  if (diff === undefined) return about
  const lines = bodyOf(diff)
  const shown = firstLines(lines)
  const left = lines.length - shown.length + moreLines
  return { ...about, diff: harmless(shown.join('\n'), redactor), ...(left > 0 && { moreLines: left }) }
}

/** A text from outside without its secrets, and with its control characters visible; newlines stay. */
function harmless(text: string, redactor: Redactor | undefined): string {
  const masked = redactor ? maskSecrets(text, redactor) : text
  return fullyVisible(masked, { lines: 'kept' })
}

/** From the first hunk on: the name of the file stands beside it. */
function bodyOf(diff: string): readonly string[] {
  const lines = diff.replace(/\n$/, '').split('\n')
  const first = lines.findIndex((line) => line.startsWith('@@'))
  return first < 0 ? [] : lines.slice(first)
}

function firstLines(lines: readonly string[]): string[] {
  const shown: string[] = []
  let chars = 0
  for (const line of lines.slice(0, mostLines)) {
    chars += line.length + 1
    if (chars > mostChars) break
    shown.push(line)
  }
  return shown
}

/**
 * Hides secrets in what a person is asked to approve, and never anything else: only what is a secret by itself goes, or
 * what stands behind a name within the same word. A redactor for logs would rather hide too much, and with that what a
 * command does: of `password= ./evil` the program, of `TOKEN=abcdef&&curl` the second command.
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

/** All that a shell, or any other language, could read as more than a part of a word. Kept by `split`. */
const between = /([^\w.+/=~@%:,-]+)/

/** Neighbours in which a redactor would hide something. */
function maskedRun(parts: readonly string[], redactor: Redactor): string {
  const run = parts.join('')
  const masked = redactor.text(run)
  const [before = '', after, ...more] = masked.split(placeholder)
  const secret = run.slice(before.length, run.length - (after?.length ?? 0))
  const isOne = after !== undefined && more.length === 0 && isSecretAlone(secret, redactor)
  return isOne ? masked : parts.map((part) => redactor.text(part)).join('')
}

function isSecretAlone(text: string, redactor: Redactor): boolean {
  // A private key is known by its first and last line, and anything could stand between them.
  return !text.includes('-----BEGIN') && redactor.text(text).replace(placeholder, '') === ''
}

/** What is known of a call before a person is asked about it. */
export interface Previewed {
  /** What it would change. */
  readonly preview?: ToolPreview
  /** Why it cannot work, for the person. */
  readonly wouldFail?: string
  /** The same in the words of the tool, for the model. */
  readonly error?: string
}

/** Asks a tool what its call would change. Code of a project or a server is not run before it is allowed. */
export async function previewCall(
  tool: ToolDef,
  { input, origin }: JudgedCall,
  { host: { execution, handle }, cancellation: stop }: Run,
  redactor: Redactor | undefined,
): Promise<Previewed> {
  if (!tool.preview || !execution || !handle || isForeign(origin)) return {}
  try {
    const preview = await tool.preview(copyJson(input), { execution, handle, signal: stop.signal })
    return preview ? { preview: shownPreview(preview, redactor) } : {}
  } catch (error) {
    if (stop.isCancelled) throw error
    const message = messageOf(error)
    return { wouldFail: harmless(message, redactor), error: message }
  }
}

/** Asks the handlers of `approval:before` whether the call can work; the reason if one of them says that it cannot. */
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
 * The call as if it only read the files that it is about. An error of a preview tells what is in them, so a model gets it
 * unasked only where such a call would not be asked about.
 */
export function asReadOnlyCall(call: JudgedCall): JudgedCall {
  const files = call.effects.filter(({ effect }) => effect === 'fs.read' || effect === 'fs.write')
  const effects = files.map((fact) => ({ ...fact, effect: 'fs.read' as const }))
  // By no name: a rule that asks about the tool is about what it does, not about looking.
  return { ...call, tool: '', key: '', gated: true, effects: effects.length > 0 ? effects : [{ effect: 'unknown' }] }
}
