import { AgentPromptTooLongError } from '../../core/errors.ts'
import type { ModelRequest } from '../../core/provider.ts'
import type { Run } from '../../core/run.ts'
import type { Message, SessionTurn } from '../../core/turn.ts'
import { bytesOf, overheadOf, sizeOfAll } from './sizes.ts'

type Asked = Pick<ModelRequest, 'model' | 'messages' | 'tools'>

/** What there is room for, as far as it is known. */
interface Room {
  /** Tokens that the model can take. */
  readonly window: number
  readonly bytesPerToken: number
}

/** Whether the prompt of this run cannot fit, even if each of its tokens were long. */
export function isPromptTooLong(run: Run, request: Asked, room: Room): boolean {
  const bytesPerToken = Math.max(room.bytesPerToken, longTokens)
  const bytes = promptBytes(run, request.messages) + overheadOf({ system: run.system.text, tools: request.tools })
  return bytes / bytesPerToken > room.window
}

/** Bytes of a token of plain English; of other languages and of code it has fewer. */
const longTokens = 4

/** The error for a prompt that does not fit, with the size that would. */
export function promptTooLong(run: Run, request: Asked, room?: Room, cause?: unknown): AgentPromptTooLongError {
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

/** Bytes of what the user told this run. */
export function promptBytes(run: Run, messages: readonly Message[]): number {
  const { text, shown } = sizeOfAll(promptOf(run, messages))
  return text + shown
}

/** What this run was told, and in any case what the user said last. */
function promptOf({ id }: Run, messages: readonly (Message & Partial<SessionTurn>)[]): Message[] {
  const said = messages.filter(
    ({ role, content }) => role === 'user' && !content.some(({ type }) => type === 'tool_result'),
  )
  const last = said.at(-1)
  return said.filter((message) => message === last || message.runId === id)
}

/** As many characters of this conversation's scripts as take so many bytes. */
function charactersOf(bytes: number, messages: readonly Message[]): number {
  const texts = messages.at(-1)?.content.flatMap((block) => (block.type === 'text' ? [block.text] : [])) ?? []
  const text = texts.join('').slice(0, 100_000)
  return Math.floor(text === '' ? bytes : (bytes * text.length) / bytesOf(text))
}

const counted = (number: number): string => Math.round(number).toLocaleString('en-US')
