import type { CacheBreak } from '../core/feature-hooks.ts'
import type { Log } from '../core/log.ts'
import type { ModelRequest } from '../core/provider.ts'
import type { Extension, Run } from '../core/run.ts'
import type { ToolSpec } from '../core/tool.ts'
import type { Message } from '../core/turn.ts'

/**
 * `cache:break`: a provider reads the beginning of a prompt from its cache as long as it does not change. This compares
 * the segments of each request with the last one, in the order in which they are cached (tools, system, turns), and tells
 * which was the first to change, and why.
 */
export function cacheGuard(): Extension {
  /** The last request of each conversation, over several runs. */
  const lastSent = new WeakMap<Log, Sent>()
  return {
    name: 'cache-guard',
    start(run, hooks) {
      let prepared: readonly Message[] = []
      hooks.hook('request:prepare', (request) => void (prepared = request.messages))
      hooks.hook('turn:before', async ({ turnId, turn, options: request }) => {
        const last = lastSent.get(run.log)
        const sent: Sent = { request, sections: new Map(run.system.sections), seq: run.log.head }
        lastSent.set(run.log, sent)
        const found = last && firstBreak(last, sent, { run, prepared })
        if (found) await run.hooks.tell('cache:break', { turnId, turn, ...found, ...lost(last, found) })
      })
      hooks.hook('turn:after', ({ usage, sessionTurn }) => {
        const last = lastSent.get(run.log)
        if (last && sessionTurn) last.tokens = usage.input + (usage.cacheRead ?? 0) + (usage.cacheCreation ?? 0)
      })
    },
  }
}

interface Sent {
  readonly request: ModelRequest
  readonly sections: ReadonlyMap<string, string>
  /** The head of the log when it was sent. */
  readonly seq: number
  /** The size of the prompt, once the service has reported it. */
  tokens?: number
}

interface Now {
  readonly run: Run
  readonly prepared: readonly Message[]
}

type Found = Pick<CacheBreak, 'segment' | 'cause' | 'message'>

function firstBreak(before: Sent, after: Sent, now: Now): Found | undefined {
  const a = before.request
  const b = after.request
  if (a.model !== b.model) return { segment: 'model', cause: `model switch: ${a.model} → ${b.model}` }
  const tools = a.tools === b.tools ? undefined : toolChange(a.tools, b.tools)
  if (tools !== undefined) return { segment: 'tools', cause: tools }
  if (a.system !== b.system) return { segment: 'system', cause: systemChange(before, after) }
  const settings = settingsChange(a, b)
  if (settings !== undefined) return { segment: 'settings', cause: settings }
  const message = a.messages.findIndex((one, i) => !isEqual(one, b.messages[i]))
  return message < 0 ? undefined : { segment: 'turns', message, cause: turnsChange(before, message, b, now) }
}

function toolChange(before: readonly ToolSpec[], after: readonly ToolSpec[]): string | undefined {
  const old = new Map(before.map((tool) => [tool.name, tool]))
  const added = after.filter(({ name }) => !old.has(name)).map(({ name }) => name)
  if (added.length > 0) return `tool added: ${added.join(', ')}`
  const left = new Set(after.map(({ name }) => name))
  const removed = before.filter(({ name }) => !left.has(name)).map(({ name }) => name)
  if (removed.length > 0) return `tool removed: ${removed.join(', ')}`
  const changed = after.filter((tool) => JSON.stringify(tool) !== JSON.stringify(old.get(tool.name)))
  if (changed.length > 0) return `tool changed: ${changed.map(({ name }) => name).join(', ')}`
  return after.every(({ name }, i) => name === before[i]!.name) ? undefined : 'tools in another order'
}

function systemChange(before: Sent, after: Sent): string {
  for (const [name, text] of after.sections)
    if (before.sections.get(name) !== text)
      return `system section "${name}" ${before.sections.has(name) ? 'changed' : 'added'}`
  for (const name of before.sections.keys()) if (!after.sections.has(name)) return `system section "${name}" removed`
  return 'system:transform'
}

/** Services cache conversations with and without thinking separately. */
function settingsChange(a: ModelRequest, b: ModelRequest): string | undefined {
  const [from, to] = [a, b].map(({ thinking, thinkingBudget }) => `${thinking} ${thinkingBudget ?? ''}`.trim())
  return from === to ? undefined : `thinking: ${from} → ${to}`
}

function turnsChange(before: Sent, message: number, { messages }: ModelRequest, { run, prepared }: Now): string {
  const { transcript } = run.log
  const stored = transcript.messagesFor(run.provider.meta.name)
  const isAsStored = isEqual(stored[message], messages[message])
  const isAsPrepared = isEqual(prepared[message], messages[message])
  if (!isAsStored && isAsPrepared) return 'compaction of older results'
  if (!isAsStored) return 'context:transform'
  return transcript.lastChange(before.seq) ?? 'another history'
}

const isEqual = (a: Message | undefined, b: Message | undefined): boolean =>
  a === b ||
  (a !== undefined && b !== undefined && a.role === b.role && JSON.stringify(a.content) === JSON.stringify(b.content))

/** The share of the last prompt's tokens that has to be read again, by length. */
function lost({ request, tokens }: Sent, { segment, message = 0 }: Found): { lostTokens: number } | undefined {
  if (tokens === undefined) return undefined
  const { tools, system, messages } = request
  const kept = segment === 'turns' ? message : 0
  const sizes = [size(tools), system.length, size(messages.slice(0, kept).map(({ content }) => content))]
  const all = size(tools) + system.length + size(messages.map(({ content }) => content))
  const spared = { model: 0, tools: 0, system: 1, settings: 2, turns: 3 }[segment]
  const same = sizes.slice(0, spared).reduce((sum, one) => sum + one, 0)
  return { lostTokens: Math.round(tokens * (1 - same / Math.max(all, 1))) }
}

const size = (value: unknown): number => JSON.stringify(value).length
