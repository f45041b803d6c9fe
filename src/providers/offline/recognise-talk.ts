import type { Intent } from './intent.ts'
import { contentIn } from './names.ts'
import { type Phrase, part, plainly } from './words.ts'

/** Requests about the conversation itself: help, greetings, what was done, the list of things to remember. */
export function recogniseTalk(phrase: Phrase): Intent | undefined {
  const said = plainly(phrase).slice(0, 200)
  if (helps.some((pattern) => pattern.test(said)) || phrase.source.trim() === '?') return { kind: 'help' }
  if (greetings.test(said)) return { kind: 'greeting' }
  if (summaries.some((pattern) => pattern.test(said))) return { kind: 'summary' }
  if (lists.test(said)) return { kind: 'notes' }
  return note(phrase, said)
}

const helps = [
  /^(?:help|commands|usage|hilfe)(?: me)?$/,
  /^(?:please )?(?:tell me |show me |explain |list )?(?:me )?what (?:can|could|do) (?:you|i|one) (?:do|say|ask|understand|know|type)\b.{0,60}$/,
  /^(?:please )?(?:tell me |show me |explain |list )?(?:me )?what you (?:can|could) (?:do|understand)\b.{0,60}$/,
  /^(?:who|what) are you$/,
  /^are you (?:an? )?(?:ai|llm|language model|real model|chatgpt|claude|human|robot|bot)$/,
  /^(?:explain|describe|introduce) yourself$/,
  /^how (?:do|does|can) (?:i|this|it|you) (?:use|work|works)\b.{0,40}$/,
]
const greetings =
  /^(?:hi|hello|hey|good (?:morning|evening|day|afternoon)|thanks|thank you|thanks a lot|ok|okay|cool|great|nice|bye|goodbye|well done)(?: there| libero| you| very much)?$/
const summaries = [
  /^(?:please )?(?:summari[sz]e|sum up|recap)(?: (?:it|this|everything|all|what .{1,60}|(?:the|this|our|your) (?:session|conversation|work|changes|run).{0,40}))?$/,
  /^what (?:did|have) you (?:do|done|change|changed)\b.{0,40}$/,
]
const lists =
  /^(?:show|list|read|see|what(?:'s| is| are)?)(?: me| on| in| the| my| our| all| your)*(?: todos?| to-dos?| tasks?)(?: lists?| items?)?$/

function note({ source, words }: Phrase, said: string): Intent | undefined {
  const phrase = { source, words }
  const ends = /\bto (?:the |my |our |your )?(?:todo|to-do|task)s?(?: list)?$/.exec(said)
  if (/^(?:add|put|note|write) /.test(said) && ends) {
    const tail = ends[0].split(' ').length
    return asNote(contentIn(part(phrase, 1, words.length - tail)))
  }
  const opening =
    /^(?:(?:please )?(?:remember|remind me|don't forget|note|todo|to-do|new task|task)(?: down)?(?: that| to| about)?)(?= )/.exec(
      said,
    )
  return opening ? asNote(contentIn(part(phrase, opening[0].split(' ').length))) : undefined
}

function asNote(text: string): Intent | undefined {
  return text === '' ? undefined : { kind: 'note', text: text.slice(0, 400) }
}
