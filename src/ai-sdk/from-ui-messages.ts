import { isRecord } from '../core/is-record.ts'
import type { Message, PromptPart, SessionContentBlock, ToolOutput, ToolResultBlock } from '../core/turn.ts'

/**
 * Messages of `useChat` as turns, for `session.addTurns`. A reply becomes one turn for each step, followed by the results
 * of its calls. Left out, for lack of a counterpart: system messages (give them to the agent), sources, data parts, and
 * signatures of reasoning. Throws a TypeError for a file that is no data URL: nothing is fetched.
 */
export function fromUIMessages(
  /** A `UIMessage` of any version and type parameters. */
  messages: readonly {
    readonly role: string
    readonly parts: readonly { readonly type: string }[]
  }[],
): Message[] {
  const turns: Message[] = []
  const add = (role: Message['role'], content: readonly SessionContentBlock[]): void => {
    if (content.length > 0) turns.push({ role, content })
  }
  for (const { role, parts } of messages) {
    if (role === 'user') add('user', promptOf(parts))
    if (role !== 'assistant') continue
    let content: SessionContentBlock[] = []
    let results: ToolResultBlock[] = []
    const endStep = (): void => {
      add('assistant', content)
      add('user', results)
      content = []
      results = []
    }
    for (const part of parts as readonly Part[]) {
      if (part.type === 'step-start' || part.type === 'steering-message') endStep()
      if (part.type === 'steering-message') add('user', promptOf(part.parts ?? []))
      if (part.type === 'reasoning' && part.text) content.push({ type: 'thinking', text: part.text })
      if (part.type === 'text' && part.text) content.push({ type: 'text', text: part.text })
      if (part.type === 'file') content.push(fileBlock(part))
      const name = part.type === 'dynamic-tool' ? part.toolName : /^tool-(.+)/s.exec(part.type)?.[1]
      if (name === undefined || part.toolCallId === undefined || part.state === 'input-streaming') continue
      content.push({ type: 'tool_call', id: part.toolCallId, name, input: inputOf(part.input) })
      const result = resultOf(part)
      if (result) results.push({ type: 'tool_result', callId: part.toolCallId, ...result })
    }
    endStep()
  }
  return turns
}

/** The fields of the parts that are read. */
interface Part {
  readonly type: string
  readonly text?: string
  readonly mediaType?: string
  readonly url?: string
  readonly filename?: string
  readonly parts?: readonly Part[]
  readonly toolName?: string
  readonly toolCallId?: string
  readonly state?: string
  readonly input?: unknown
  readonly output?: unknown
  readonly errorText?: string
  readonly approval?: { readonly id?: unknown; readonly approved?: unknown; readonly reason?: unknown }
}

/** What a person says in these parts: texts and files. */
export function promptOf(parts: readonly { readonly type: string }[]): PromptPart[] {
  return (parts as readonly Part[]).flatMap((part): PromptPart[] => {
    if (part.type === 'text') return part.text ? [{ type: 'text', text: part.text }] : []
    return part.type === 'file' ? [fileBlock(part)] : []
  })
}

function fileBlock({ mediaType = '', url = '', filename }: Part): PromptPart {
  const [, type, base64, data = ''] = /^data:([^;,]*)[^,]*?(;base64)?,(.*)$/s.exec(url) ?? []
  if (type === undefined)
    throw new TypeError(
      `A file must be a data URL, because nothing is fetched; got ${JSON.stringify(url.slice(0, 60))}`,
    )
  const bytes = base64 === undefined ? btoa(unquoted(data)) : data
  const media = mediaType.includes('/') ? mediaType : type || 'text/plain'
  if (media.startsWith('image/')) return { type: 'image', mediaType: media, data: bytes }
  return { type: 'document', mediaType: media, data: bytes, ...(filename !== undefined && { name: filename }) }
}

/** The bytes of percent-encoded text, one character each. */
const unquoted = (text: string): string =>
  text
    .replace(/[^\p{ASCII}]+/gu, encodeURIComponent)
    .replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))

const inputOf = (input: unknown): Record<string, unknown> => (isRecord(input) ? input : {})

/** The result of a call that has one. */
function resultOf({ state, output, errorText, approval }: Part): Omit<ToolResultBlock, 'type' | 'callId'> | undefined {
  if (state === 'output-error') return { output: errorText ?? '', isError: true }
  if (state === 'output-available') return { output: outputOf(output) }
  if (state !== 'output-denied') return undefined
  const reason = typeof approval?.reason === 'string' && approval.reason !== '' ? `: ${approval.reason}` : ''
  return { output: `The user denied this call${reason}`, isError: true }
}

/** An output of ours as it was; one of another program as text. */
export function outputOf(output: unknown): ToolOutput {
  if (typeof output === 'string') return output
  if (Array.isArray(output) && output.length > 0 && output.every(isResultContent)) return output
  return JSON.stringify(output) ?? ''
}

function isResultContent(block: unknown): boolean {
  const { type, text, mediaType, data } = (block ?? {}) as Record<string, unknown>
  if (type === 'text') return typeof text === 'string'
  return (type === 'image' || type === 'document') && typeof mediaType === 'string' && typeof data === 'string'
}
