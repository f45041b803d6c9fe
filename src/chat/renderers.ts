import { isRecord } from '../core/is-record.ts'
import type { AgentInstanceMessage } from '../plugins/message.ts'

/** Renders some messages. `View` is the host's own type. */
export interface Renderer<View> {
  readonly id: string
  /** Higher priorities are tried first; of equal ones, the first registered. */
  readonly priority: number
  readonly matches: MessageMatch
  render(message: AgentInstanceMessage): View
}

/**
 * Selects messages: a pattern on their content, a media type (`image/*` for a family), or a function. A pattern runs on
 * text of the model, so it must not need long for any text.
 */
export type MessageMatch = RegExp | `${string}/${string}` | ((message: AgentInstanceMessage) => boolean)

/** Chooses the renderer of a message. */
export interface RendererRegistry<View> {
  /** Returns a function that removes it. Throws if the id is taken. */
  register(renderer: Renderer<View>): () => void
  /** The matching renderer with the highest priority, else plain text. */
  pick(message: AgentInstanceMessage): Renderer<View>
  /** Renders with the picked renderer; if it throws, with the next one. */
  render(message: AgentInstanceMessage): View
}

/** A registry with plain text only; `messageKinds` helps to register the usual renderers. */
export function createRendererRegistry<View>(options: {
  /** Renders messages that no renderer matches. */
  readonly text: (message: AgentInstanceMessage) => View
  /** Receives the error of a renderer that was skipped. Default: ignored. */
  readonly onError?: (error: unknown, about: { readonly renderer: string; readonly message: string }) => void
}): RendererRegistry<View> {
  const plain: Renderer<View> = {
    id: 'text',
    priority: Number.NEGATIVE_INFINITY,
    matches: () => true,
    render: options.text,
  }
  /** In the order in which they are tried. */
  const renderers: Renderer<View>[] = []

  const report = (error: unknown, renderer: Renderer<View>, message: AgentInstanceMessage): void => {
    options.onError?.(error, { renderer: renderer.id, message: message.id })
  }

  const matches = (renderer: Renderer<View>, message: AgentInstanceMessage): boolean => {
    try {
      return isMatch(renderer.matches, message)
    } catch (error) {
      report(error, renderer, message)
      return false
    }
  }

  return {
    register(renderer) {
      check(renderer)
      if (renderer.id === plain.id || renderers.some(({ id }) => id === renderer.id))
        throw new TypeError(
          `There is a renderer "${renderer.id}" already; remove it first, or register one with another id and a higher priority`,
        )
      const lower = renderers.findIndex(({ priority }) => priority < renderer.priority)
      renderers.splice(lower < 0 ? renderers.length : lower, 0, renderer)
      return () => {
        const place = renderers.indexOf(renderer)
        if (place >= 0) renderers.splice(place, 1)
      }
    },
    pick: (message) => renderers.find((renderer) => matches(renderer, message)) ?? plain,
    render(message) {
      for (const renderer of [...renderers]) {
        if (!matches(renderer, message)) continue
        try {
          return renderer.render(message)
        } catch (error) {
          report(error, renderer, message)
        }
      }
      return plain.render(message)
    },
  }
}

function check({ id, priority, matches, render }: Renderer<unknown>): void {
  if (typeof id !== 'string' || id === '')
    throw new TypeError(`A renderer needs an id, a text that is not empty, got ${JSON.stringify(id)}`)
  if (typeof priority !== 'number' || Number.isNaN(priority))
    throw new TypeError(`The renderer "${id}" needs a priority, a number such as 50, got ${String(priority)}`)
  const isMedia = typeof matches === 'string' && /^[^/\s]+\/[^/\s]+$/.test(matches)
  if (!isMedia && typeof matches !== 'function' && !(matches instanceof RegExp))
    throw new TypeError(
      `The renderer "${id}" needs matches: a RegExp, a media type such as "text/markdown", or a function`,
    )
  if (typeof render !== 'function') throw new TypeError(`The renderer "${id}" needs a function render(message)`)
}

function isMatch(match: MessageMatch, message: AgentInstanceMessage): boolean {
  if (typeof match === 'function') return match(message) === true
  // `search` ignores `lastIndex`, so that a pattern with the flag g always gives the same result.
  if (match instanceof RegExp) return message.content.search(match) >= 0
  const type = mediaType(message.contentType ?? '')
  const wanted = mediaType(match)
  return wanted.endsWith('/*') ? type.startsWith(wanted.slice(0, -1)) : type === wanted
}

/** Without parameters such as a charset. */
const mediaType = (text: string): string => (text.split(';', 1)[0] ?? '').trim().toLowerCase()

/** A renderer without `render`. */
export interface MessageKind {
  readonly id: string
  readonly priority: number
  readonly matches: MessageMatch
}

/** The usual kinds of messages, for `register({ ...messageKinds.error, render })`. */
export const messageKinds = {
  error: kind('error', 200, ({ role, metadata }) => role === 'error' || metadata?.errorDetail !== undefined),
  question: kind(
    'question',
    150,
    (message) => isOfTool(message, questionTools) || hasDetail(message, 'questionId') || waitsFor(message, 'answer'),
  ),
  approval: kind('approval', 150, (message) => waitsFor(message, 'permission')),
  diff: kind('diff', 150, (message) => hasDetail(message, 'diff') || isDiff(message)),
  todo: kind('todo', 150, (message) => isOfTool(message, todoTools) || hasDetail(message, 'todos')),
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

/** Whether a message is the result or the call of one of the tools. */
function isOfTool({ metadata }: AgentInstanceMessage, tools: readonly string[]): boolean {
  if (metadata?.toolId !== undefined && tools.includes(metadata.toolId)) return true
  return metadata?.calls?.some(({ toolId }) => tools.includes(toolId)) === true
}

const hasDetail = ({ metadata }: AgentInstanceMessage, name: string): boolean =>
  isRecord(metadata?.details) && metadata.details[name] !== undefined

/** The message with the call; the question is in `workflow.pending`. */
const waitsFor = ({ metadata }: AgentInstanceMessage, what: 'permission' | 'answer'): boolean =>
  metadata?.calls?.some((call) => call.waitsFor === what) === true

const isDiff = ({ contentType = '' }: AgentInstanceMessage): boolean =>
  /^text\/(?:x-)?(?:diff|patch)\b/i.test(contentType)
