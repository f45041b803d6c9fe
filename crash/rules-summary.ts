import type { SessionSummary } from '../src/core/store.ts'
import { applyEntries, attentionOf, emptySummary, type StoredSummary } from '../src/sessions/stored-summary.ts'
import type { Evidence, Violation } from './evidence.ts'

/**
 * I9: a summary is that of the log. While a process writes, the first summary may be older than the log that was read and
 * the second one newer; after a crash both are exact, and the store names the sessions that need attention.
 */
export function trueSummaries(evidence: Evidence): Violation[] {
  return Object.entries(evidence.summaries).flatMap(([session, [before, after]]) => [
    ...flawsOf(evidence, session, before, 'at most'),
    ...flawsOf(evidence, session, after, 'at least'),
    ...attentionFlaws(evidence, session),
  ])
}

function flawsOf(
  { sessions, isQuiet }: Evidence,
  session: string,
  summary: SessionSummary | undefined,
  bound: 'at most' | 'at least',
): Violation[] {
  const entries = sessions[session] ?? []
  if (entries.some(({ seq }, i) => seq !== i + 1)) return [] // I7 reports it
  if (!summary) return [i9(`${session} has ${entries.length} entries and no summary`)]
  const { head } = summary
  const isPossible = bound === 'at most' ? head <= entries.length : head >= entries.length
  if (isQuiet ? head !== entries.length : !isPossible)
    return [i9(`the summary of ${session} has ${head} entries, its log ${entries.length}`)]
  if (head > entries.length) return []
  const computed = applyEntries(emptySummary, entries.slice(0, head), 0)
  return compared.flatMap((field) =>
    summary[field] === computed[field]
      ? []
      : [i9(`the ${field} of ${session} is ${summary[field]} in its summary, ${computed[field]} by its log`)],
  )
}

const compared = ['title', 'turns', 'calls', 'tokens', 'cost', 'createdAt', 'updatedAt'] as const

function attentionFlaws({ isQuiet, sessions, summaries, attention, waiting }: Evidence, session: string): Violation[] {
  if (!isQuiet) return []
  const mine = waiting.filter((message) => message.session === session)
  const isAnswer = mine.some(({ mode }) => mode === 'answer')
  const mail = isAnswer ? 'answer' : mine.length > 0 ? 'messages' : 'none'
  const computed: StoredSummary = applyEntries(emptySummary, sessions[session] ?? [], 0)
  const wanted = attentionOf(computed, mail)
  const found = summaries[session]?.[1]?.attention
  if (found !== wanted) return [i9(`the summary of ${session} has the attention ${found}, should have ${wanted}`)]
  if (attention.includes(session) === (wanted !== undefined)) return []
  return [i9(`the list of sessions that need attention is wrong about ${session} (${wanted})`)]
}

const i9 = (what: string): Violation => ({ id: 'I9', what })
