import { toolResultToText } from '../core/tool-output.ts'
import type { Message, SessionContentBlock } from '../core/turn.ts'
import { type Redactor, redactedStart } from '../platform/redact.ts'

/** The longest attribute with content, in characters. */
const mostContent = 8 * 1024

/** A value as the text of an attribute, masked and cut. */
export function contentOf(redactor: Redactor, value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
  return redactedStart(redactor, text, mostContent)
}

/** The newest messages that fit, in the shape of the conventions. Only those are looked at. */
export function messagesOf(redactor: Redactor, messages: readonly Message[]): string {
  const texts: string[] = []
  let length = 2
  for (let i = messages.length - 1; i >= 0; i--) {
    const message = messages[i]!
    const parts = message.content.map(partOf)
    const text = redactor.text(JSON.stringify({ role: roleOf(message), parts }))
    length += text.length + 1
    if (length > mostContent && texts.length > 0) break
    texts.unshift(text)
  }
  return `[${texts.join()}]`.slice(0, mostContent)
}

/** Results of tools are messages of users with us. */
const roleOf = ({ role, content }: Message): string =>
  content.length > 0 && content.every(({ type }) => type === 'tool_result') ? 'tool' : role

/** A block as a part of a message. Binary data is left out. */
export function partOf(block: SessionContentBlock): object {
  switch (block.type) {
    case 'text':
      return { type: 'text', content: block.text }
    case 'thinking':
      return { type: 'reasoning', content: block.text }
    case 'tool_call':
      return { type: 'tool_call', id: block.id, name: block.name, arguments: block.input }
    case 'tool_result':
      return { type: 'tool_call_response', id: block.callId, response: toolResultToText(block.output) }
    default:
      return { type: block.type }
  }
}
