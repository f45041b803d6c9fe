import { defaultBehavior } from '../../core/behavior.ts'
import { AgentPromptTooLongError } from '../../core/errors.ts'
import type { ModelRequest } from '../../core/provider.ts'
import type { Run } from '../../core/run.ts'
import type { Message, SessionTurn } from '../../core/turn.ts'
import { bytesOf, overheadOf, type Size, sizeOfAll } from './sizes.ts'

/** How large a conversation may be, in weighted bytes. */
export interface Limits {
  /** A larger conversation is reduced. */
  readonly limit: number
  /** A larger conversation cannot be sent; absent if unknown. */
  readonly hard?: number
  /** The size that `limit` refers to. */
  readonly measure: (size: Size) => number
  /** The size in proportion to tokens. */
  readonly weigh: (size: Size) => number
  /** The context of the model, if known. */
  readonly room?: Room
}

type PromptRequest = Pick<ModelRequest, 'model' | 'messages' | 'tools'>

/** The configured threshold, else three quarters of the model's context, else a size that most models accept. */
export async function limitsOf(run: Run, request: PromptRequest): Promise<Limits> {
  const { compactThreshold } = run.settings.behavior
  const isSet = compactThreshold !== defaultBehavior.compactThreshold // the default is for the other strategy
  const window = await windowOf(run, request.model)
  if (window === undefined)
    return { limit: isSet ? compactThreshold : defaultLimit, measure: isSet ? asBytes : asShown, weigh: asShown }
  const overhead = overheadOf({ system: run.system.text, tools: request.tools })
  const { bytesPerToken, mediaWeight } = calibrated(run, request, overhead)
  const all = window * bytesPerToken
  const hard = Math.max(all * 0.95 - overhead, all * 0.3)
  const weigh: Limits['weigh'] = ({ text, shown }) => text + shown * mediaWeight
  const known = { hard, weigh, room: { window, bytesPerToken } }
  if (isSet) return { limit: compactThreshold, measure: asBytes, ...known }
  return { limit: Math.max(all * 0.75 - overhead, all * 0.25), measure: weigh, ...known }
}

/** Whether a conversation is smaller than a quarter of the smallest context of any model: then the model's own need not be known. */
export function fitsAnywhere({ settings: { behavior } }: Run, size: Size): boolean {
  return behavior.compactThreshold === defaultBehavior.compactThreshold && asBytes(size) < 3000
}

/** All bytes that are sent. */
export const asBytes = ({ text, media }: Size): number => text + media

/** All bytes that the model reads. */
const asShown = ({ text, shown }: Size): number => text + shown

/** Limits after a request was refused as too large: from the error message, else from the model's context, else half of the request. */
export async function limitsAfterRefusal(run: Run, request: ModelRequest, why: string): Promise<Limits> {
  const counts = countsIn(why)
  const share = counts && counts.most / counts.sent
  const window = await windowOf(run, request.model)
  const weigh = share === undefined && window === undefined ? asBytes : asShown // the error and the context are in tokens
  const sent = weigh(sizeOfAll(request.messages))
  const overhead = overheadOf(request)
  const known = window === undefined ? undefined : Math.max(window * defaultBytesPerToken * 0.75 - overhead, window)
  const fromError =
    share === undefined ? undefined : Math.max((sent + overhead) * share * 0.75 - overhead, sent * share * 0.3)
  // The request was refused, so it must become smaller in any case.
  const limit = Math.min(fromError ?? known ?? sent / 2, sent * 0.7)
  const room = counts
    ? { window: counts.most, bytesPerToken: (sent + overhead) / counts.sent }
    : window !== undefined && { window, bytesPerToken: defaultBytesPerToken }
  return { limit, hard: limit, measure: weigh, weigh, ...(room && { room }) }
}

const defaultBytesPerToken = 3
const defaultLimit = 400_000

async function windowOf({ provider }: Run, model: string): Promise<number | undefined> {
  try {
    const window = await provider.contextWindow?.(model)
    return typeof window === 'number' && window > 0 ? window : undefined
  } catch {
    return undefined
  }
}

/** The real tokens per byte of text and of images, from the usage of the last reply. */
function calibrated(
  run: Run,
  { model, messages }: PromptRequest,
  overhead: number,
): { bytesPerToken: number; mediaWeight: number } {
  const at = messages.findLastIndex((message) => message.role === 'assistant')
  const tokens = at < 0 ? 0 : promptTokens(run, messages[at]!, model)
  const sent = sizeOfAll(messages.slice(0, Math.max(at, 0)))
  const bytes = sent.text + overhead
  const uncalibrated = { bytesPerToken: defaultBytesPerToken, mediaWeight: 1 }
  // Ignores impossible counts, and short prompts, which say little.
  if (tokens < 1000 || bytes / tokens > 8) return uncalibrated
  if (sent.shown === 0) return { bytesPerToken: Math.max(bytes / tokens, 1), mediaWeight: 1 }
  const shown = tokens * defaultBytesPerToken - bytes
  return { ...uncalibrated, mediaWeight: Math.min(Math.max(shown / sent.shown, 0.02), 1) }
}

function promptTokens({ log: { transcript } }: Run, reply: Message & Partial<SessionTurn>, model: string): number {
  if (!reply.usage || reply.model !== model) return 0
  // What was compacted after it was another prompt.
  const { compaction } = transcript
  const since = compaction ? transcript.seqOf(reply.id) : undefined
  if (compaction && (since === undefined || since < compaction.seq)) return 0
  const { input, cacheRead = 0, cacheCreation = 0 } = reply.usage
  return input + cacheRead + cacheCreation
}

/** "… 215000 tokens > 200000 maximum": what was sent and what may be, if the error tells. */
function countsIn(message: string): { readonly sent: number; readonly most: number } | undefined {
  const plain = message.replace(/(\d)[,_](?=\d{3})/g, '$1')
  // What stands in a name, such as the date in that of a model, is no size.
  const numbers = (plain.match(/(?<![\w.@:/-])\d{3,9}(?![\w@/-]|\.\w)/g) ?? []).map(Number)
  // The greatest two are what was sent and what may be; smaller ones are parts of either.
  const [sent = 0, most = 0] = [...new Set(numbers)].filter((number) => number >= 500).sort((a, b) => b - a)
  return most > 0 && most / sent > 0.01 ? { sent, most } : undefined
}

/** The context of a model. */
interface Room {
  /** In tokens. */
  readonly window: number
  readonly bytesPerToken: number
}

/** Whether the prompt of this run cannot fit, even if its tokens are as long as those of plain English. */
export function isPromptTooLong(run: Run, request: PromptRequest, room: Room): boolean {
  const bytesPerToken = Math.max(room.bytesPerToken, longTokens)
  const bytes = promptBytes(run, request.messages) + overheadOf({ system: run.system.text, tools: request.tools })
  return bytes / bytesPerToken > room.window
}

/** Bytes per token of plain English; other languages and code have fewer. */
const longTokens = 4

/** The error for a prompt that does not fit, with the size that would. */
export function promptTooLong(run: Run, request: PromptRequest, room?: Room, cause?: unknown): AgentPromptTooLongError {
  const { model, messages, tools } = request
  const overhead = overheadOf({ system: run.system.text, tools })
  const bytes = promptBytes(run, messages)
  const tokens = room && Math.max(Math.floor(room.window * 0.9 - overhead / room.bytesPerToken), 0)
  const fits = room &&
    tokens !== undefined && { tokens, characters: charactersOf(tokens * room.bytesPerToken, messages) }
  const size = room ? `about ${counted(bytes / room.bytesPerToken)} tokens` : `${counted(bytes)} bytes`
  const much = !fits
    ? 'and the service does not say how much would fit'
    : fits.tokens === 0
      ? 'and the system prompt and the tools alone fill the context'
      : `and about ${counted(fits.tokens)} tokens (${counted(fits.characters)} characters) fit beside the system prompt and the tools`
  return new AgentPromptTooLongError(
    `The prompt is too long for ${model}: it has ${size}, ${much}. It was not shortened. Send a shorter one, put the text into a file that the agent reads in parts, or use a model with a larger context.`,
    {
      provider: run.provider.meta.name,
      retryable: false,
      ...(cause !== undefined && { cause }),
      ...(fits && { fits }),
    },
  )
}

/** The size of the user's messages to this run. */
export function promptBytes(run: Run, messages: readonly Message[]): number {
  const { text, shown } = sizeOfAll(promptOf(run, messages))
  return text + shown
}

/** The user's messages to this run, and in any case the last one. */
function promptOf({ id }: Run, messages: readonly (Message & Partial<SessionTurn>)[]): Message[] {
  const userMessages = messages.filter(
    ({ role, content }) => role === 'user' && !content.some(({ type }) => type === 'tool_result'),
  )
  const last = userMessages.at(-1)
  return userMessages.filter((message) => message === last || message.runId === id)
}

/** The number of characters that so many bytes hold, in the script of the last message. */
function charactersOf(bytes: number, messages: readonly Message[]): number {
  const texts = messages.at(-1)?.content.flatMap((block) => (block.type === 'text' ? [block.text] : [])) ?? []
  const text = texts.join('').slice(0, 100_000)
  return Math.floor(text === '' ? bytes : (bytes * text.length) / bytesOf(text))
}

const counted = (number: number): string => Math.round(number).toLocaleString('en-US')
