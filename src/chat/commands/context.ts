import { estimateTokens } from '../../core/estimate-tokens.ts'
import { toolResultToText } from '../../core/tool-output.ts'
import type { Message, SessionContentBlock } from '../../core/turn.ts'
import { formatCount } from '../../platform/format.ts'
import type { CommandWork } from '../lazy-command.ts'

export const context: CommandWork = {
  run(_, { chat, screen }) {
    const { agent } = chat.agent ?? {}
    if (!agent) throw new Error('No session is open yet')
    const { view, settings } = chat.state
    const { last } = view.usage
    const parts = partsOf(agent.log.transcript.messagesFor(agent.meta.name))
    const known = [...parts.values()].reduce((sum, tokens) => sum + tokens, 0)
    const read = last ? last.input + (last.cacheRead ?? 0) + (last.cacheCreation ?? 0) : undefined
    // What the last request had beyond its messages: the system prompt and the tools.
    const fixed = read === undefined ? undefined : Math.max(read - (known - (last?.output ?? 0)), 0)
    const total = known + (fixed ?? 0)
    const { contextWindow } = settings.model
    const share =
      contextWindow === undefined ? '' : ` of ${formatCount(contextWindow)} (${percent(total, contextWindow)})`
    const lines: (readonly [string, number])[] = [
      ...(fixed === undefined ? [] : [['instructions and tools', fixed] as const]),
      ...[...parts].filter(([, tokens]) => tokens > 0),
    ]
    screen.print(
      [
        `The next request has about ${formatCount(total)} tokens${share}`,
        ...lines.map(
          ([name, tokens]) => `  ${name.padEnd(22)} ${formatCount(tokens).padStart(9)}  ${percent(tokens, total)}`,
        ),
        ...(fixed === undefined ? ['  instructions and tools: known after the first answer'] : []),
      ].join('\n'),
    )
  },
}

const percent = (part: number, whole: number): string => (whole === 0 ? '0 %' : `${Math.round((part / whole) * 100)} %`)

const names = {
  text: ['your messages', 'answers'],
  thinking: ['thinking', 'thinking'],
  tool_call: ['tool calls', 'tool calls'],
  tool_result: ['tool results', 'tool results'],
  image: ['images', 'images'],
  document: ['documents', 'documents'],
} as const satisfies Record<SessionContentBlock['type'], readonly [ofUser: string, ofModel: string]>

/** The estimated tokens of the messages, by what they consist of. */
function partsOf(messages: readonly Message[]): Map<string, number> {
  const parts = new Map<string, number>()
  for (const { role, content } of messages)
    for (const block of content) {
      const name = names[block.type][role === 'user' ? 0 : 1]
      parts.set(name, (parts.get(name) ?? 0) + tokensOf(block))
    }
  return parts
}

/** About what an image of a screen costs with most services. */
const tokensOfImage = 1500

function tokensOf(block: SessionContentBlock): number {
  if (block.type === 'text' || block.type === 'thinking') return estimateTokens(block.text)
  if (block.type === 'tool_call') return estimateTokens(block.name + JSON.stringify(block.input))
  if (block.type === 'tool_result') return estimateTokens(toolResultToText(block.output))
  return block.type === 'image' ? tokensOfImage : estimateTokens(block.data)
}
