import type { ModelReply, ModelRequest } from '../../core/provider.ts'
import { type Message, textOf } from '../../core/turn.ts'
import { nextStep, type Step } from './act.ts'
import { condense, isSummaryRequest } from './condense.ts'
import { conversationOf } from './conversation.ts'
import { inShape } from './in-shape.ts'

/** What the offline model says to a request. */
export function replyTo(request: ModelRequest): ModelReply {
  const { text, call } = answerTo(request)
  const input = call && JSON.stringify(call.input)
  const content: ModelReply['content'] = [
    ...(text === '' ? [] : [{ type: 'text' as const, text }]),
    ...(call && input !== undefined
      ? [{ type: 'tool_call' as const, id: callId(request.messages), name: call.name, input }]
      : []),
  ]
  const usage = { input: tokens(sizeOf(request)), output: tokens(text.length + (input?.length ?? 0)), cost: 0 }
  return { type: 'reply', content, usage, stop: call ? 'tool_use' : 'end' }
}

function answerTo({ system, messages, tools, toolChoice }: ModelRequest): Step {
  if (typeof toolChoice === 'object') return forced(toolChoice.name, messages, tools)
  if (isSummaryRequest(system, messages)) return { text: condense(system, messages) }
  return nextStep(conversationOf(messages), toolChoice === 'none' ? [] : tools, system)
}

/** A tool that must be called: its input is what was said last, where its shape takes a text. */
function forced(name: string, messages: ModelRequest['messages'], tools: ModelRequest['tools']): Step {
  const last = messages.findLast(({ role, content }) => role === 'assistant' && textOf({ role, content }) !== '')
  const schema = tools.find((tool) => tool.name === name)?.inputSchema
  const input = schema && inShape(schema, last ? textOf(last) : '')
  if (input) return { text: '', call: { name, input } }
  return {
    text: `I cannot answer in the shape that ${name} wants: I am the offline model, a set of rules, and can only fill in fixed values and plain texts.`,
  }
}

/** The same for the same conversation, and new with every turn. */
const callId = (messages: readonly Message[]): string =>
  `offline_${messages.length}_${messages.reduce((sum, { content }) => sum + content.length, 0)}`

/** As services count, roughly. */
const tokens = (characters: number): number => Math.max(1, Math.ceil(characters / 4))

function sizeOf({ system, messages, tools }: ModelRequest): number {
  let size = system.length
  for (const { name, description } of tools) size += name.length + description.length
  for (const { content } of messages)
    for (const block of content) {
      if (block.type === 'text' || block.type === 'thinking') size += block.text.length
      else if (block.type === 'tool_call') size += JSON.stringify(block.input).length
      else if (block.type === 'tool_result')
        size +=
          typeof block.output === 'string'
            ? block.output.length
            : textOf({ role: 'user', content: block.output }).length
    }
  return size
}
