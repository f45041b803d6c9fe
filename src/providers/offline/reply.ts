import { estimateTokens } from '../../core/estimate-tokens.ts'
import { isRecord } from '../../core/is-record.ts'
import type { ModelReply, ModelRequest } from '../../core/provider.ts'
import { headBytes } from '../../core/text.ts'
import type { JsonSchema } from '../../core/tool.ts'
import { type Message, textOf } from '../../core/turn.ts'
import { nextStep, type Step } from './act.ts'
import { conversationOf } from './conversation.ts'
import { brief } from './results.ts'

/** The reply of the offline model to a request. */
export function replyTo(request: ModelRequest): ModelReply {
  const { text, call } = stepFor(request)
  const input = call && JSON.stringify(call.input)
  const content: ModelReply['content'] = [
    ...(text === '' ? [] : [{ type: 'text' as const, text }]),
    ...(call && input !== undefined
      ? [{ type: 'tool_call' as const, id: callId(request.messages), name: call.name, input }]
      : []),
  ]
  const usage = { input: tokens(textOfRequest(request)), output: tokens(text + (input ?? '')), cost: 0 }
  return { type: 'reply', content, usage, stop: call ? 'tool_use' : 'end' }
}

function stepFor({ system, messages, tools, toolChoice }: ModelRequest): Step {
  if (typeof toolChoice === 'object') return forcedCall(toolChoice.name, messages, tools)
  if (isSummaryRequest(system, messages)) return { text: extractOf(system, messages) }
  return nextStep(conversationOf(messages), toolChoice === 'none' ? [] : tools, system)
}

/** A call of a tool that must be called, with the last reply for every text of its input. */
function forcedCall(name: string, messages: ModelRequest['messages'], tools: ModelRequest['tools']): Step {
  const last = messages.findLast(({ role, content }) => role === 'assistant' && textOf({ role, content }) !== '')
  const schema = tools.find((tool) => tool.name === name)?.inputSchema
  const input = schema && filledObject(schema, last ? textOf(last) : '')
  if (input) return { text: '', call: { name, input } }
  return {
    text: `I cannot answer in the shape that ${name} wants: I am the offline model, a set of rules, and can only fill in fixed values and plain texts.`,
  }
}

/** The same for the same conversation, and new with every turn. */
const callId = (messages: readonly Message[]): string =>
  `offline_${messages.length}_${messages.reduce((sum, { content }) => sum + content.length, 0)}`

const tokens = (text: string): number => Math.max(1, estimateTokens(text))

function textOfRequest({ system, messages, tools }: ModelRequest): string {
  const blocks = messages.flatMap(({ content }) => content)
  const texts = blocks.map((block) => {
    if (block.type === 'text' || block.type === 'thinking') return block.text
    if (block.type === 'tool_call') return JSON.stringify(block.input)
    if (block.type !== 'tool_result') return ''
    return typeof block.output === 'string' ? block.output : textOf({ role: 'user', content: block.output })
  })
  return [system, ...tools.map(({ name, description }) => name + description), ...texts].join('')
}

/** Whether this is a request of compaction for a summary. */
function isSummaryRequest(system: string, messages: readonly Message[]): boolean {
  const [only] = messages
  return messages.length === 1 && /\b(?:condense|summar)/i.test(system) && textOf(only!).includes('<record')
}

/** An extract of the record for compaction: what the user said and which tools were called, the latest last. */
function extractOf(system: string, messages: readonly Message[]): string {
  const text = textOf(messages.at(-1)!)
  const words = Number(/at most (\d{1,6}) words/.exec(system)?.[1] ?? 100)
  const maxBytes = Math.min(Math.max(words * 6, 300), 4000)
  const maxPoints = Math.max(2, Math.floor((maxBytes - disclaimer.length - 40) / pointLength))
  const before = /<previous_summary>\n(.*?)\n<\/previous_summary>/s.exec(text.slice(0, 20_000))?.[1] ?? ''
  const earlier = before.split('\n').filter((line) => line.startsWith('- ') && line !== disclaimer)
  const asked = passages(text, /^User:$/).map(({ body }) => point(body))
  const goals = [...earlier, ...asked].slice(-Math.ceil(maxPoints / 2))
  const calls = passages(text, /^(?:Assistant calls|Error of) .{1,80}:$/).slice(goals.length - maxPoints)
  const state = calls.map(({ head, body }) => point(`${head} ${body}`))
  return headBytes(['## Goal', disclaimer, ...goals, '## State', ...state].join('\n'), maxBytes)
}

const disclaimer = '- (an extract made by rules, not by a language model)'
const pointLength = 100
const point = (line: string): string => `- ${brief(line, pointLength - 10)}`

/** The passages of a record whose heading matches, of at most four lines each. */
function passages(text: string, heading: RegExp): { head: string; body: string }[] {
  const found: { head: string; body: string[] }[] = []
  let isOpen = false
  for (const line of text.slice(text.indexOf('<record')).slice(-400_000).split('\n')) {
    const isHead = line.length < 120 && /^(?:User|Assistant|Assistant calls .+|Result of .+|Error of .+):$/.test(line)
    if (isHead) isOpen = heading.test(line)
    if (isHead && isOpen) found.push({ head: line, body: [] })
    else if (isOpen && !line.startsWith('</record') && (found.at(-1)?.body.length ?? 9) < 4)
      found.at(-1)!.body.push(line)
  }
  return found.map(({ head, body }) => ({ head, body: body.join(' ') }))
}

/** Fills a schema with fixed values, and with `text` for strings; `undefined` if the schema needs more than that. */
function filledObject(schema: JsonSchema, text: string): Record<string, unknown> | undefined {
  const filled = fill(schema, text, 0)
  return isRecord(filled) ? filled : undefined
}

function fill(schema: unknown, text: string, depth: number): unknown {
  if (!isRecord(schema) || depth > 10) return undefined
  if ('const' in schema) return schema.const
  if ('default' in schema) return schema.default
  if (Array.isArray(schema.enum)) return schema.enum.length === 1 ? schema.enum[0] : undefined
  const types = [schema.type].flat()
  const { pattern, format, minLength = 1, maxLength = text.length, minItems = 0 } = schema
  const isAllowed = pattern === undefined && format === undefined
  if (types.includes('string'))
    return isAllowed && text.length >= Math.max(1, Number(minLength)) && text.length <= Number(maxLength)
      ? text
      : undefined
  if (types.includes('null')) return null
  if (types.includes('array')) return minItems === 0 ? [] : undefined
  if (!types.includes('object') && !isRecord(schema.properties)) return undefined
  const properties = isRecord(schema.properties) ? schema.properties : {}
  const required = Array.isArray(schema.required) ? schema.required.map(String) : []
  const entries = required.map((name) => {
    return [name, Object.hasOwn(properties, name) ? fill(properties[name], text, depth + 1) : undefined] as const
  })
  return entries.some(([, value]) => value === undefined) ? undefined : Object.fromEntries(entries)
}
