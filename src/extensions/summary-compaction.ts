import type { Extension, Run } from '../core/run.ts'
import type { Message, SessionTurn } from '../core/turn.ts'
import { fitsAnywhere, isPromptTooLong, type Limits, limitsOf, promptTooLong } from './compaction/limits.ts'
import { sizeOfAll } from './compaction/sizes.ts'

/**
 * `behavior.compactStrategy: 'summary'`: once the conversation is too large, a model summarises all but its newest turns.
 * The summary is a log entry and replaces these turns in all further requests.
 */
export function summaryCompaction(): Extension {
  return {
    name: 'summary-compaction',
    start(run, hooks) {
      if (run.settings.behavior.compactStrategy !== 'summary') return
      hooks.hook('request:prepare', async (request) => {
        const { turnId, model, messages } = request
        const size = sizeOfAll(messages)
        if (fitsAnywhere(run, size)) return
        const limits = await limitsOf(run, request)
        if (limits.room && isPromptTooLong(run, request, limits.room)) {
          request.refuse = promptTooLong(run, request, limits.room)
          return
        }
        const isTooBig = limits.measure(size) > limits.limit
        if (!isTooBig || !(hasGrown(run, limits) || isOtherModel(run, model))) return
        const { compact, shownMessages } = await import('./compaction/compact.ts')
        const stored = shownMessages(run)
        if (await compact(run, { turnId, model, limits, asksModel: true }))
          request.messages = updated(messages, stored, shownMessages(run))
      })
    },
  }
}

/** Whether the conversation has grown since the last summary, which may be of another process: it is in the log. */
function hasGrown({ log: { transcript }, provider }: Run, { limit, measure }: Limits): boolean {
  const { compaction } = transcript
  if (!compaction) return true
  const since = transcript
    .shownTurns(provider.meta.name)
    .filter(({ seq }) => seq > compaction.seq)
    .map(({ role, blocks }) => ({ role, content: blocks.filter((block) => block !== undefined) }))
  return measure(sizeOfAll(since)) >= limit / 2
}

/** Whether another model is about to answer for the first time: its context may be smaller. */
function isOtherModel({ log: { transcript }, provider }: Run, model: string): boolean {
  const { turns, compaction } = transcript
  const last = transcript.findLastTurn(({ role }) => role === 'assistant')
  if (!last || (compaction?.seq ?? 0) > (transcript.seqOf(turns.at(-1)?.id) ?? 0)) return false
  return last.model !== model || last.provider !== provider.meta.name
}

/** The request after compaction: messages that stay keep the changes of other extensions. */
function updated(prepared: readonly Message[], stored: readonly Message[], now: readonly Message[]): Message[] {
  const places = new Map(prepared.map((message, i) => [idOf(message), i]))
  const first = now.findIndex((message) => idOf(message) !== undefined && places.has(idOf(message)))
  if (first < 0) return [...now]
  const old = new Set(stored)
  const changed = new Map(now.filter((message) => !old.has(message)).map((message) => [idOf(message), message]))
  changed.delete(undefined)
  const rest = prepared.slice(places.get(idOf(now[first]!)))
  return [...now.slice(0, first), ...rest.map((message) => changed.get(idOf(message)) ?? message)]
}

const idOf = (message: Message & Partial<SessionTurn>): string | undefined => message.id
