import type { Intent } from './intent.ts'
import { recogniseAgent } from './recognise-agent.ts'
import { recogniseChange } from './recognise-change.ts'
import { recogniseCount, recogniseLook } from './recognise-look.ts'
import { recogniseRun } from './recognise-run.ts'
import { recogniseTalk } from './recognise-talk.ts'
import { type Phrase, part, phraseOf, plainly } from './words.ts'

/** What one request means; undefined when it means nothing that is known. */
export function recognise(text: string): Intent | undefined {
  const whole = phraseOf(text)
  return recogniseAgent(whole) ?? recogniseTalk(whole) ?? recogniseTask(withoutManners(whole))
}

/** From what leaves no doubt to what is a guess: the first that fits counts. */
function recogniseTask(phrase: Phrase): Intent | undefined {
  if (phrase.words.length === 0) return undefined
  return (
    recogniseTalk(phrase) ??
    recogniseRun(phrase) ??
    recogniseCount(phrase) ??
    recogniseChange(phrase) ??
    recogniseLook(phrase)
  )
}

const manners = new Set(
  `please kindly can could would will you i we want need like to d id i'd let's lets hey hi hello ok okay now first next
  finally also and then just go ahead help try so well libero`.split(/\s+/),
)
const questions = new Set(['what', "what's", 'which', 'where', "where's", 'how'])
const thanks = new Set('please thanks thank you for me now then'.split(' '))

/** Whoever asks whether to do it does not ask for it. */
const doubt = /^(?:can|could|should|shall|may|would|do|must) i\b|^(?:should|shall) we\b/

/** `could you please … for me?` */
function withoutManners(phrase: Phrase): Phrase {
  if (doubt.test(plainly(part(phrase, 0, 2)))) return phrase
  let from = 0
  let to = phrase.words.length
  while (from < to - 1 && from < 10 && manners.has(phrase.words[from]!.plain)) from++
  while (to > from + 1 && thanks.has(phrase.words[to - 1]!.plain)) to--
  if (phrase.words[from]?.plain === 'me' && to > from + 1) from++
  const [verb, me, question] = phrase.words.slice(from, to).map(({ plain }) => plain)
  const isQuestion = (verb === 'tell' || verb === 'show') && me === 'me' && questions.has(question ?? '')
  return part(phrase, isQuestion ? from + 2 : from, to)
}
