import { type Message, textOf } from '../../core/turn.ts'

/** A tool call with its result. */
export interface CallResult {
  readonly name: string
  readonly input: Readonly<Record<string, unknown>>
  readonly text: string
  readonly isError: boolean
}

/** What the reply depends on. Nothing is kept outside of the messages, so a resumed session continues. */
export interface Conversation {
  /** The current request. */
  readonly prompt: string
  /** The prompt came with images or documents. */
  readonly hasMedia: boolean
  /** There was no reply yet. */
  readonly isFirst: boolean
  /** The request is no longer in the conversation: compaction removed it or replaced it by a summary. */
  readonly isLost: boolean
  /** The calls that were made for this prompt, in order. */
  readonly results: readonly CallResult[]
  readonly earlier: readonly EarlierRequest[]
}

/** An earlier prompt and the calls that were made for it. */
export interface EarlierRequest {
  readonly prompt: string
  readonly results: readonly CallResult[]
}

export function conversationOf(messages: readonly Message[]): Conversation {
  const requests: { prompt: string; results: CallResult[]; hasMedia: boolean }[] = []
  const calls = new Map<string, Pick<CallResult, 'name' | 'input'>>()
  const shown = new Map<string, string>()
  let replies = 0
  let isFirst = true
  let isAfterResults = false
  for (const message of messages) {
    if (message.role === 'assistant') {
      replies++
      isAfterResults = false
      for (const block of message.content) if (block.type === 'tool_call') calls.set(block.id, block)
      continue
    }
    const prompt = textOf(withoutPages(message)).trim()
    const hasMedia = message.content.some(({ type }) => type === 'image' || type === 'document')
    const results = resultsIn(message, calls, shown)
    requests.at(-1)?.results.push(...results)
    isAfterResults ||= results.length > 0
    if (isAfterResults && !hasMedia && isRemark(prompt)) continue
    requests.push({ prompt, results: [], hasMedia })
    isFirst = replies === 0
  }
  const { prompt = '', results = [], hasMedia = false } = requests.pop() ?? {}
  const isLost = isSummary(prompt) || (prompt === '' && !hasMedia && replies > 0)
  const earlier = requests.filter((request) => !isSummary(request.prompt))
  return { prompt, results, hasMedia, isFirst, isLost, earlier }
}

/** A summary by compaction is not a request. */
const isSummary = (prompt: string): boolean => prompt.startsWith('[Summary of the conversation')

/** Programs add remarks in brackets between the turns of a run. Any other text may be a person who says stop. */
const isRemark = (prompt: string): boolean => /^(?:\[.*\])?$/s.test(prompt) && !isSummary(prompt)

/** Attached wiki pages are not a request. */
const withoutPages = ({ role, content }: Message): Message => ({
  role,
  content: content.filter((block) => block.type !== 'text' || !block.text.startsWith('Attached wiki page {')),
})

function resultsIn(
  message: Message,
  calls: ReadonlyMap<string, Pick<CallResult, 'name' | 'input'>>,
  shown: Map<string, string>,
): CallResult[] {
  return message.content.flatMap((block) => {
    const call = block.type === 'tool_result' && calls.get(block.callId)
    if (block.type !== 'tool_result' || !call) return []
    const { output, isError = false } = block
    const given = typeof output === 'string' ? output : textOf({ role: 'user', content: output })
    // A file that has not changed since it was read is not shown again.
    const key = `${call.name} ${JSON.stringify(call.input)}`
    const text = given.startsWith('[Unchanged since it was read above') ? (shown.get(key) ?? given) : given
    if (!isError) shown.set(key, text)
    return [{ name: call.name, input: call.input, text, isError }]
  })
}
