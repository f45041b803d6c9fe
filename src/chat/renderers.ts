import { isRecord } from '../core/is-record.ts'
import type { AgentInstanceMessage } from '../plugins/message.ts'

/** A way to show some messages. `View` is whatever the host draws with. */
export interface Renderer<View> {
  readonly id: string
  /** Higher ones are asked first; of equals, the one that was registered first. */
  readonly priority: number
  readonly matches: MessageMatch
  render(message: AgentInstanceMessage): View
}

/**
 * Which messages: a pattern over their content, a media type (`image/*` for a family), or a function. Patterns run over
 * what a model wrote, so they are the host's own, and none that a text could keep busy for long.
 */
export type MessageMatch = RegExp | `${string}/${string}` | ((message: AgentInstanceMessage) => boolean)

/** Finds out how a message is shown. */
export interface RendererRegistry<View> {
  /** Returns how it is taken out again. Throws where the id is taken. */
  register(renderer: Renderer<View>): () => void
  /** The one with the highest priority that matches; plain text matches whatever is left. */
  pick(message: AgentInstanceMessage): Renderer<View>
  /** Draws with the one that `pick` gives; where that fails, with the next one. */
  render(message: AgentInstanceMessage): View
}

export interface RendererRegistryOptions<View> {
  /** Plain text: for what nothing else matches. */
  readonly text: (message: AgentInstanceMessage) => View
  /** A renderer that failed, and was passed over. Default: nobody is told. */
  readonly onError?: (error: unknown, about: { readonly renderer: string; readonly message: string }) => void
}

/** A registry with nothing but plain text; `messageKinds` has what to register the usual renderers with. */
export function createRendererRegistry<View>(options: RendererRegistryOptions<View>): RendererRegistry<View> {
  const plain: Renderer<View> = {
    id: 'text',
    priority: Number.NEGATIVE_INFINITY,
    matches: () => true,
    render: options.text,
  }
  /** In the order in which they are asked. */
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
          `There is a renderer "${renderer.id}" already; take it out first, or register one with another id and a higher priority`,
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
  // `search` leaves `lastIndex` alone, so that a pattern with the flag g says the same every time.
  if (match instanceof RegExp) return message.content.search(match) >= 0
  const type = mediaType(message.contentType ?? '')
  const wanted = mediaType(match)
  return wanted.endsWith('/*') ? type.startsWith(wanted.slice(0, -1)) : type === wanted
}

/** Without parameters such as a charset. */
const mediaType = (text: string): string => (text.split(';', 1)[0] ?? '').trim().toLowerCase()

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
