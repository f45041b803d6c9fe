import type { CallOutcome, EntryBody } from './log.ts'
import { wellFormed } from './plain-json.ts'
import { byteLength } from './text.ts'
import type { ReplayClass } from './tool.ts'
import type { Transcript } from './transcript.ts'
import type { DocumentBlock, ImageBlock, ToolOutput, ToolResultContent } from './turn.ts'

/** Bytes on the wire: UTF-8 length of text, base64 length of images and documents. The same number as `outputBytes` in hooks. */
export function toolOutputByteLength(output: ToolOutput): number {
  if (typeof output === 'string') return byteLength(output)
  if (!Array.isArray(output)) return 0 // from a log that nobody of ours wrote
  let sum = 0
  for (const part of output) sum += part.type === 'text' ? byteLength(part.text) : part.data.length
  return sum
}

/** One text out of any tool output, for logs and for models that read nothing else. */
export function toolResultToText(output: ToolOutput): string {
  if (typeof output === 'string') return output
  return output.map((part) => (part.type === 'text' ? part.text : marker(part))).join('\n')
}

/** The same output for a model that cannot see; untouched, and the same object, where there is no image. */
export function withoutImages(output: ToolOutput): ToolOutput {
  if (typeof output === 'string' || !output.some((part) => part.type === 'image')) return output
  return output.map((part) => (part.type === 'image' ? { type: 'text', text: imageMarker(part) } : part))
}

export const imageMarker = ({ mediaType, data }: ImageBlock): string =>
  `[image: ${mediaType}, ${Math.floor((data.length * 3) / 4)} bytes, not shown because this model cannot see images]`

const marker = (part: ImageBlock | DocumentBlock): string =>
  part.type === 'image'
    ? imageMarker(part)
    : `[document: ${part.name ?? part.mediaType}, ${Math.floor((part.data.length * 3) / 4)} bytes]`

export interface Outcome {
  readonly output: ToolOutput
  readonly isError: boolean
  readonly details?: unknown
}

/** What a tool returned, as a result that can be stored, sent and frozen. Throws when there is no way to show it. */
export function readToolResult(value: unknown): Outcome {
  if (typeof value === 'string') return { output: wellFormed(value), isError: false }
  if (Array.isArray(value)) return { output: readParts(value), isError: false }
  if (isResultObject(value)) {
    const inner = readToolResult(value.output)
    const { isError = false, details } = value
    return { ...inner, isError: Boolean(isError), ...(details !== undefined && { details: plainData(details) }) }
  }
  return { output: wellFormed(shownAsText(value)), isError: false }
}

interface ResultObject {
  readonly output: unknown
  readonly details?: unknown
  readonly isError?: unknown
}

function isResultObject(value: unknown): value is ResultObject {
  return typeof value === 'object' && value !== null && 'output' in value && isOutput(value.output)
}

const isOutput = (value: unknown): boolean => typeof value === 'string' || Array.isArray(value)

/** Blocks are copied, so that freezing them later does not freeze the tool's own objects. */
function readParts(parts: readonly unknown[]): ToolOutput {
  if (parts.every(isPart)) return parts.map(copyPart)
  return wellFormed(shownAsText(parts))
}

function copyPart(part: ToolResultContent): ToolResultContent {
  if (part.type === 'text') return { type: 'text', text: wellFormed(part.text) }
  const { type, mediaType, data } = part
  if (type === 'image') return { type, mediaType, data }
  return { type, mediaType, data, ...(typeof part.name === 'string' && { name: wellFormed(part.name) }) }
}

function isPart(part: unknown): part is ToolResultContent {
  if (typeof part !== 'object' || part === null || !('type' in part)) return false
  if (part.type === 'text') return 'text' in part && typeof part.text === 'string'
  return (
    (part.type === 'image' || part.type === 'document') &&
    'data' in part &&
    typeof part.data === 'string' &&
    'mediaType' in part &&
    typeof part.mediaType === 'string'
  )
}

function shownAsText(value: unknown): string {
  if (value === undefined || value === null) return '(no output)'
  if (typeof value === 'object') return JSON.stringify(value)
  if (typeof value === 'function' || typeof value === 'symbol') throw new TypeError(`it returned a ${typeof value}`)
  return String(value)
}

/** Details are kept in the log: data only, and a copy. What cannot be copied is left out rather than failing the call. */
function plainData(details: unknown): unknown {
  try {
    return JSON.parse(JSON.stringify(details)) as unknown
  } catch {
    return undefined
  }
}

export const stopped = 'Aborted: the run was stopped'
const unbegun = 'before this call began; it did not run'

/** What the model reads where a call did not run, or where it is not known what it did. */
export const syntheticText = {
  aborted: `${stopped} ${unbegun}`,
  skipped: 'Skipped: the user sent a new message',
  unknown:
    'Interrupted: the process stopped while this call ran. Its effects may or may not have happened; check before repeating it.',
} as const satisfies Partial<Record<CallOutcome, string>>

/** A result for a call that has none of its own: no call stays without an answer. `more` is what is known beside that. */
export function syntheticResult(callId: string, outcome: keyof typeof syntheticText, more = ''): EntryBody {
  const output = more ? `${syntheticText[outcome]} ${more}` : syntheticText[outcome]
  return { type: 'call_result', callId, output, isError: true, outcome }
}

/** The same for an open call of a run that was stopped; it may have begun, in that run or before. */
export function abortedResult(transcript: Transcript, callId: string, why = stopped): EntryBody {
  const start = transcript.startOf(callId)
  const output = start ? interruptedText(why, start) : `${why} ${unbegun}`
  return { type: 'call_result', callId, output, isError: true, outcome: 'aborted' }
}

/** What the model reads of a call that was stopped after it had begun. */
export function interruptedText(why: string, call: { readonly replay?: ReplayClass }, soFar = ''): string {
  const effects = call.replay === 'pure' ? '' : ' Its effects may or may not have happened; check before repeating it.'
  const printed = soFar.trim() === '' ? '' : `\nUntil then:\n${soFar}`
  return `${why} while this call ran.${effects}${printed}`
}
