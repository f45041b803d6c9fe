import { memoize } from '../core/memoize.ts'
import type { Extension } from '../core/run.ts'
import { toolOutputByteLength } from '../core/tool-output.ts'
import type { Message } from '../core/turn.ts'

/**
 * `behavior.compactStrategy: 'tail'`: once the tool results are too large in total, those of older turns become stubs in
 * the request. Text, the user's images and the session stay unchanged.
 */
export function tailCompaction(): Extension {
  return {
    name: 'tail-compaction',
    start(run, hooks) {
      const { compactStrategy, compactThreshold, compactKeepTurns } = run.settings.behavior
      if (compactStrategy !== 'tail') return
      hooks.hook('request:prepare', (request) => {
        const { messages } = request
        const bytes = messages.reduce((sum, message) => sum + resultBytes(message), 0)
        if (bytes <= compactThreshold) return
        const firstKept = indexOfNewestTurns(messages, compactKeepTurns)
        request.messages = messages.map((message, i) => (i < firstKept ? stubbed(message) : message))
      })
    },
  }
}

/** The stub in place of a result. */
export const leftOut = (bytes: number): string =>
  `[Result left out to save space: ${bytes} bytes. Call the tool again if you need it.]`

const resultBytes = memoize((message: Message): number => {
  let bytes = 0
  for (const block of message.content) if (block.type === 'tool_result') bytes += toolOutputByteLength(block.output)
  return bytes
})

/** A turn begins with a reply of the model and includes the results of its calls. */
function indexOfNewestTurns(messages: readonly Message[], turns: number): number {
  if (turns === 0) return messages.length
  let left = turns
  for (let i = messages.length - 1; i >= 0; i--) if (messages[i]!.role === 'assistant' && --left === 0) return i
  return 0
}

/** The same object for the same message each time, so that the provider's cached prefix stays valid. */
const stubbed = memoize((message: Message): Message => {
  if (resultBytes(message) === 0) return message
  const content = message.content.map((block) => {
    if (block.type !== 'tool_result') return block
    const stub = leftOut(toolOutputByteLength(block.output))
    return toolOutputByteLength(block.output) > stub.length ? { ...block, output: stub } : block
  })
  return { ...message, content }
})
