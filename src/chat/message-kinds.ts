import { isRecord } from '../core/is-record.ts'
import type { AgentInstanceMessage } from '../plugins/message.ts'
import type { MessageMatch } from './renderers.ts'

/** What a renderer needs but for `render`. */
export interface MessageKind {
  readonly id: string
  readonly priority: number
  readonly matches: MessageMatch
}

/** The kinds of messages there are, for `register({ ...messageKinds.error, render })`. */
export const messageKinds = {
  error: kind('error', 200, ({ role, metadata }) => role === 'error' || metadata?.errorDetail !== undefined),
  question: kind('question', 150, (message) => isAbout(message, questionTools) || hasDetail(message, 'questionId')),
  approval: kind('approval', 150, (message) => waitsForPermission(message)),
  diff: kind('diff', 150, (message) => hasDetail(message, 'diff') || isDiff(message)),
  todo: kind('todo', 150, (message) => isAbout(message, todoTools) || hasDetail(message, 'todos')),
  thinking: kind('thinking', 100, ({ reasoning_content }) => (reasoning_content ?? '').trim() !== ''),
  markdown: kind('markdown', 50, 'text/markdown'),
  wikitext: kind('wikitext', 50, 'text/vnd.tiddlywiki'),
  html: kind('html', 50, 'text/html'),
  image: kind('image', 50, 'image/*'),
  toolResult: kind('tool-result', 10, ({ role, metadata }) => role === 'tool' || metadata?.isToolResult === true),
} as const

function kind(id: string, priority: number, matches: MessageMatch): MessageKind {
  return Object.freeze({ id, priority, matches })
}

const questionTools = ['ask-question', 'ask_user']
const todoTools = ['manage-todo', 'todowrite', 'todoread']

/** Its result, or the message that called it. */
function isAbout({ metadata }: AgentInstanceMessage, tools: readonly string[]): boolean {
  if (metadata?.toolId !== undefined && tools.includes(metadata.toolId)) return true
  return metadata?.calls?.some(({ toolId }) => tools.includes(toolId)) === true
}

const hasDetail = ({ metadata }: AgentInstanceMessage, name: string): boolean =>
  isRecord(metadata?.details) && metadata.details[name] !== undefined

/** The message that made the call; what is asked stands in `workflow.pending`. */
const waitsForPermission = ({ metadata }: AgentInstanceMessage): boolean =>
  metadata?.calls?.some(({ waitsFor }) => waitsFor === 'permission') === true

const isDiff = ({ contentType = '' }: AgentInstanceMessage): boolean =>
  /^text\/(?:x-)?(?:diff|patch)\b/i.test(contentType)
