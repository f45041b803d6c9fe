import type { Intent } from './intent.ts'
import { type Phrase, plainly } from './words.ts'

/** Requests to an agent that stays: reminders, questions to put, what is new in a wiki. */
export function recogniseAgent(phrase: Phrase): Intent | undefined {
  const source = phrase.source.trim().slice(0, 500)
  const rung = /^\[Alarm Clock\] (.+)$/s.exec(source)
  if (rung) return { kind: 'rung', text: rung[1]! }
  const said = plainly(phrase).slice(0, 200)
  return reminder(source) ?? question(source) ?? recent(source, said)
}

const span = '(?:in|after) (a|an|one|half an|\\d{1,4}) (second|minute|min|hour|day)s?'
const timeFirst = new RegExp(`^(?:please )?remind me ${span},? ?(?:to|about|that|of)? ?(.*)$`, 'is')
const timeLast = new RegExp(`^(?:please )?remind me (?:to |about |that |of )?(.+?),? ${span}[.!]?$`, 'is')

function reminder(source: string): Intent | undefined {
  const first = timeFirst.exec(source)
  if (first) return asReminder(first[3]!, first[1]!, first[2]!)
  const last = timeLast.exec(source)
  return last ? asReminder(last[1]!, last[2]!, last[3]!) : undefined
}

const seconds: Readonly<Record<string, number>> = { second: 1, minute: 60, min: 60, hour: 3600, day: 86_400 }
const counts: Readonly<Record<string, number>> = { a: 1, an: 1, one: 1, 'half an': 0.5 }

function asReminder(text: string, count: string, unit: string): Intent {
  const many = counts[count.toLowerCase()] ?? Number(count)
  const about = text.trim().replace(/[.!]+$/, '')
  return {
    kind: 'remind',
    text: about === '' ? 'what you wanted' : about,
    seconds: many * seconds[unit.toLowerCase()]!,
  }
}

/** `ask me: tea or coffee?` has options, `ask me where to go` has none. */
function question(source: string): Intent | undefined {
  const asked = /^(?:please )?ask me(?::| )\s*(.+)$/is.exec(source)?.[1]?.trim()
  if (asked === undefined) return undefined
  const options = /^[\w-]{1,40}(?:, [\w-]{1,40})*,? or [\w-]{1,40}\?$/.test(asked)
    ? asked.slice(0, -1).split(/,? or |, /)
    : []
  return { kind: 'ask', question: asked.endsWith('?') ? asked : `${asked}?`, options }
}

const newest =
  /^(?:(?:show|list) (?:me )?)?(?:the )?(?:recent|latest|newest|last) (?:pages|tiddlers|changes (?:in|of|to) (?:the |my )?wiki)\b/
const news = /^(?:what is new|what's new|what has changed|what changed) (?:in|on) (?:the |my )?wiki\b/

function recent(source: string, said: string): Intent | undefined {
  if (!newest.test(said) && !news.test(said)) return undefined
  const wiki = /\bwiki (?:called |named )?["“”`']?([\w-]{1,60})["“”`']?/i.exec(source)?.[1]
  return { kind: 'recent', ...(wiki !== undefined && { wiki }) }
}
