import type { ModelRequest } from '../../src/core/provider.ts'
import { type ScriptedProvider, type Step, scripted } from '../../src/testing/index.ts'
import type { ScriptedReply } from '../../src/testing/scripted.ts'
import type { Message, SessionContentBlock } from '../../src/types.ts'

/** A model with a window: it refuses what does not fit, and calls that have no result. A token is three bytes. */
export interface StrictModel extends ScriptedProvider {
  /** The requests for a summary, and the others. */
  readonly summaries: ModelRequest[]
  readonly answers: ModelRequest[]
  /** Requests that did not fit. */
  readonly refused: ModelRequest[]
}

export interface StrictOptions {
  /** Tokens. */
  readonly window: number
  /** Whether it can be asked for it. Default true. */
  readonly tellsWindow?: boolean
  /** Whether its errors say how much was too much. Default true. */
  readonly tellsCounts?: boolean
  /** The model's name, where errors say it. */
  readonly named?: string
  readonly summary?: (request: ModelRequest) => Step
  readonly answer?: (request: ModelRequest) => Step
}

export function strictModel(options: StrictOptions): StrictModel {
  const { window, tellsWindow = true, tellsCounts = true, named = '' } = options
  const { summary = () => 'A short summary.', answer = () => 'Answered.' } = options
  const summaries: ModelRequest[] = []
  const answers: ModelRequest[] = []
  const refused: ModelRequest[] = []
  const step = (request: ModelRequest): Step => {
    const tokens = tokensOf(request)
    if (tokens > window) {
      refused.push(request)
      return new Error(tellsCounts ? `too long${named}: ${tokens} tokens > ${window} maximum` : 'too long')
    }
    const isSummary = request.system.startsWith('You condense')
    ;(isSummary ? summaries : answers).push(request)
    if (!isSummary) expectPairs(request.messages)
    const reply = isSummary ? summary(request) : answer(request)
    return typeof reply === 'string' ? ({ text: reply, usage: { input: tokens } } satisfies ScriptedReply) : reply
  }
  const classifyError = (error: unknown) =>
    error instanceof Error && error.message.startsWith('too long')
      ? ({ kind: 'context_exceeded', message: error.message, retryable: false } as const)
      : null
  const provider = scripted(...Array<Step>(500).fill(step), { options: { classifyError } })
  return Object.assign(provider, {
    summaries,
    answers,
    refused,
    ...(tellsWindow && { contextWindow: () => window }),
  })
}

/** As a service would count: everything that is sent, an image as if it were made small. */
export function tokensOf({ system, tools, messages }: ModelRequest): number {
  const contents = messages.map(({ role, content }) => ({ role, content }))
  return Math.ceil(Buffer.byteLength(system + JSON.stringify(tools) + JSON.stringify(contents, small)) / 3)
}

const small = (key: string, value: unknown): unknown =>
  key === 'data' && typeof value === 'string' ? value.slice(0, 15_000) : value

function expectPairs(messages: readonly Message[]): void {
  let asked: string[] = []
  for (const { role, content } of messages) {
    const results = content.flatMap((block) => (block.type === 'tool_result' ? [block.callId] : []))
    if (results.toSorted().join() !== asked.toSorted().join())
      throw new Error(`calls ${asked} were answered by ${results}`)
    asked = content.flatMap((block) => (block.type === 'tool_call' && role === 'assistant' ? [block.id] : []))
  }
  if (asked.length > 0) throw new Error(`calls ${asked} have no result`)
}

export const text = (words: string): SessionContentBlock => ({ type: 'text', text: words })
export const user = (...content: (string | SessionContentBlock)[]): Message => ({
  role: 'user',
  content: blocks(content),
})
export const assistant = (...content: (string | SessionContentBlock)[]): Message => ({
  role: 'assistant',
  content: blocks(content),
})
const blocks = (content: readonly (string | SessionContentBlock)[]): SessionContentBlock[] =>
  content.map((block) => (typeof block === 'string' ? text(block) : block))

/** A question, a call, its result of so many bytes, an answer. */
export function exchange(i: number, bytes: number): Message[] {
  const id = `call-${i}`
  return [
    user(`Question ${i}`),
    assistant(`I look at ${i}.`, { type: 'tool_call', id, name: 'look', input: { path: `/file-${i}` } }),
    user({ type: 'tool_result', callId: id, output: `${i} `.repeat(Math.ceil(bytes / 2)).slice(0, bytes) }),
    assistant(`Answer ${i}`),
  ]
}

/** A conversation of about so many bytes. */
export function talk(bytes: number, each = 900): Message[] {
  return Array.from({ length: Math.max(Math.round(bytes / (each + 200)), 1) }, (_, i) => exchange(i, each)).flat()
}

/** All that a request says, for looking something up in it. */
export const allText = ({ messages }: ModelRequest): string =>
  messages
    .flatMap(({ content }) => content)
    .map((block) => {
      if (block.type === 'text') return block.text
      if (block.type === 'tool_result') return String(block.output)
      return JSON.stringify(block)
    })
    .join('\n')
