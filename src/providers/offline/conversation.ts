import { type Message, textOf } from '../../core/turn.ts'

/** Something that was done, and what came of it. */
export interface Deed {
  readonly name: string
  readonly input: Readonly<Record<string, unknown>>
  readonly text: string
  readonly isError: boolean
}

/** All that the model goes by: nothing is remembered outside of the messages, so a resumed session goes on. */
export interface Conversation {
  /** What is asked for now. */
  readonly prompt: string
  /** The prompt came with pictures or documents. */
  readonly hasMedia: boolean
  /** Nothing was said before. */
  readonly isFirst: boolean
  /** What was asked for is not there any more: a summary stands in its place, or nothing. */
  readonly isLost: boolean
  /** What was done for this prompt, in order. */
  readonly deeds: readonly Deed[]
  /** What was asked and done before it. */
  readonly earlier: readonly Episode[]
}

/** One prompt of before, and what was done for it. */
export interface Episode {
  readonly prompt: string
  readonly deeds: readonly Deed[]
}

/** Reads a conversation. */
export function conversationOf(messages: readonly Message[]): Conversation {
  const episodes: { prompt: string; deeds: Deed[]; hasMedia: boolean }[] = []
  const calls = new Map<string, Pick<Deed, 'name' | 'input'>>()
  const seen = new Map<string, string>()
  let answers = 0
  let isFirst = true
  let isBehindResults = false
  for (const message of messages) {
    if (message.role === 'assistant') {
      answers++
      isBehindResults = false
      for (const block of message.content) if (block.type === 'tool_call') calls.set(block.id, block)
      continue
    }
    const prompt = textOf(withoutPages(message)).trim()
    const hasMedia = message.content.some(({ type }) => type === 'image' || type === 'document')
    const results = deedsIn(message, calls, seen)
    episodes.at(-1)?.deeds.push(...results)
    isBehindResults ||= results.length > 0
    if (isBehindResults && !hasMedia && isRemark(prompt)) continue
    episodes.push({ prompt, deeds: [], hasMedia })
    isFirst = answers === 0
  }
  const { prompt = '', deeds = [], hasMedia = false } = episodes.pop() ?? {}
  const isLost = isSummary(prompt) || (prompt === '' && !hasMedia && answers > 0)
  return { prompt, deeds, hasMedia, isFirst, isLost, earlier: episodes.filter((one) => !isSummary(one.prompt)) }
}

/** What compaction puts in the place of the beginning: nothing in it is a request. */
const isSummary = (prompt: string): boolean => prompt.startsWith('[Summary of the conversation')

/** Programs put remarks in brackets between the turns of a run. Anything else may be a person who says stop. */
const isRemark = (prompt: string): boolean =>
  prompt === '' || (prompt.startsWith('[') && prompt.endsWith(']') && !isSummary(prompt))

/** Pages of wikis that come with a message are for reading, and no request. */
const withoutPages = ({ role, content }: Message): Message => ({
  role,
  content: content.filter((block) => block.type !== 'text' || !block.text.startsWith('Attached wiki page {')),
})

function deedsIn(
  message: Message,
  calls: ReadonlyMap<string, Pick<Deed, 'name' | 'input'>>,
  seen: Map<string, string>,
): Deed[] {
  const deeds: Deed[] = []
  for (const block of message.content) {
    const call = block.type === 'tool_result' && calls.get(block.callId)
    if (block.type !== 'tool_result' || !call) continue
    const { output, isError = false } = block
    const said = typeof output === 'string' ? output : textOf({ role: 'user', content: output })
    // A file that was read before is not shown again: it is as it was then.
    const key = `${call.name} ${JSON.stringify(call.input)}`
    const text = said.startsWith(unchanged) ? (seen.get(key) ?? said) : said
    if (!isError) seen.set(key, text)
    deeds.push({ name: call.name, input: call.input, text, isError })
  }
  return deeds
}

const unchanged = '[Unchanged since it was read above'
