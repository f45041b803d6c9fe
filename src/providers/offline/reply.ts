import { estimateTokens } from '../../core/estimate-tokens.ts'
import { isRecord } from '../../core/is-record.ts'
import type { ModelReply, ModelRequest } from '../../core/provider.ts'
import { headBytes } from '../../core/text.ts'
import type { JsonSchema, ToolSpec } from '../../core/tool.ts'
import { type Message, textOf } from '../../core/turn.ts'
import { type Conversation, conversationOf } from './conversation.ts'
import { type Call, callFor, type Job } from './jobs.ts'
import type { Plan, PlanContext, PlanEnd, PlanStep } from './plan.ts'
import { planFor } from './plans.ts'
import { maxPromptLength, type Request, understand } from './requests.ts'
import { brief } from './results.ts'
import { notAModel, unsureAbout } from './talk-plans.ts'

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

/** The next reply: a text, and a call if one is needed. */
interface Step {
  readonly text: string
  readonly call?: Call
}

/** The next reply of a conversation. Depends on the arguments alone. */
export function nextStep(conversation: Conversation, tools: readonly ToolSpec[], system = ''): Step {
  const { prompt, hasMedia, isFirst, isLost, results } = conversation
  if (isLost) return { text: lost }
  const problem = problemOf(prompt, hasMedia)
  if (problem !== undefined) return { text: `${problem} ${notAModel}` }
  const requests = understand(prompt)
  if (results.length > 0 && requests.every(({ intent }) => intent === undefined)) return { text: lost }
  const can = (job: Job['do']): boolean => !('missing' in callFor({ ...anyJob, do: job } as Job, tools))
  const plan = oneAfterTheOther(requests, { conversation, can, folders: foldersIn(system), wikis: wikisIn(system) })
  let next = plan.next()
  for (const result of results) {
    if (next.done) break
    next = plan.next(result)
  }
  const introduced = (text: string): string =>
    isFirst && results.length === 0 && !text.includes(notAModel) ? `(${notAModel})\n\n${text}` : text
  if (next.done) return { text: introduced(next.value.says) }
  const call = callFor(next.value.job, tools)
  if (!('missing' in call)) return { text: introduced(next.value.say), call }
  const names = brief(tools.map(({ name }) => name).join(', '), 300)
  const offered = tools.length === 0 ? 'no tools are offered here' : `these are offered: ${names}`
  return { text: introduced(`I would need the tool ${call.missing} for that, and it is missing: ${offered}.`) }
}

/** Has every field of every job, to ask whether there is a tool for one. */
const anyJob = {
  ...{ path: '.', text: '', pattern: '*', command: '', from: '', to: '', todos: [] },
  ...{ url: '', at: '', question: '', options: [], wiki: '' },
}

const lost =
  'I have lost the thread: what was asked for is no longer in the conversation as I see it. Please say again what I should do.'

/** Why a prompt cannot be read. */
function problemOf(prompt: string, hasMedia: boolean): string | undefined {
  if (prompt === '' && hasMedia) return 'I cannot see pictures or read documents; please say in words what to do.'
  if (prompt === '') return 'There is nothing in your message that I could read; please say what to do.'
  if (prompt.length <= maxPromptLength) return undefined
  return `Your message has ${prompt.length} characters, and I read no more than ${maxPromptLength}; please say in a sentence what to do.`
}

/** The absolute paths in a system prompt, the longest first. */
function foldersIn(system: string): string[] {
  const found = [...system.slice(0, 20_000).matchAll(/(?<![\w/.])\/[\w@.+/-]{1,500}/g)]
  const paths = new Set(found.map(([path]) => path.replace(/[./]+$/, '')))
  return [...paths].slice(0, 20).sort((a, b) => b.length - a.length)
}

/** The names of wikis in a system prompt. */
function wikisIn(system: string): string[] {
  const at = system.indexOf('Wikis of the user')
  if (at < 0) return []
  return [...system.slice(at, at + 20_000).matchAll(/^- "([^"\n]{1,200})"/gm)].map(([, name]) => name!)
}

/** Plays the plans of all requests. The text at the end of one is put before the next text. */
function* oneAfterTheOther(requests: readonly Request[], context: PlanContext): Plan {
  let said = ''
  for (const [i, { text, intent }] of requests.entries()) {
    const end: PlanEnd = intent
      ? yield* withPrefix(said, planFor(intent, context))
      : { says: joined(said, unsureAbout(text)), isFailed: true }
    said = end.says
    const left = requests.slice(i + 1)
    if (!end.isFailed || left.length === 0) continue
    const undone = left.map((request) => `“${brief(request.text, 60)}”`).join(', ')
    return { says: `${said}\n\nI stopped there; not done: ${undone}.` }
  }
  return { says: said }
}

function* withPrefix(prefix: string, plan: Plan): Plan {
  let before = prefix
  let next: IteratorResult<PlanStep, PlanEnd> = plan.next()
  while (!next.done) {
    const result = yield { ...next.value, say: joined(before, next.value.say) }
    before = ''
    next = plan.next(result)
  }
  return { ...next.value, says: joined(before, next.value.says) }
}

const joined = (...texts: string[]): string => texts.filter((text) => text !== '').join('\n\n')
