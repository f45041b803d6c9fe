import type { ToolSpec } from '../../core/tool.ts'
import type { Conversation } from './conversation.ts'
import { type Call, callFor } from './jobs.ts'
import type { Ask, Ending, Plan, Surroundings } from './plan.ts'
import { planFor } from './plans.ts'
import { notAModel } from './plans-talk.ts'
import { brief } from './results.ts'
import { longestPrompt, type Request, understand } from './understand.ts'
import { unsureAbout } from './unsure.ts'

/** What the model says next, and the call it makes, if any. */
export interface Step {
  readonly text: string
  readonly call?: Call
}

/** The next step of a conversation: depends on nothing but what is given. */
export function nextStep(conversation: Conversation, tools: readonly ToolSpec[], system = ''): Step {
  const { prompt, hasMedia, isFirst, isLost, deeds } = conversation
  if (isLost) return { text: lost }
  const unreadable = whyUnreadable(prompt, hasMedia)
  if (unreadable !== undefined) return { text: `${unreadable} ${notAModel}` }
  const requests = understand(prompt)
  if (deeds.length > 0 && requests.every(({ intent }) => intent === undefined)) return { text: lost }
  const around: Surroundings = {
    conversation,
    can: (job) => isOffered(job, tools),
    folders: foldersIn(system),
    wikis: wikisIn(system),
  }
  const plan = inTurn(requests, around)
  let given = plan.next()
  for (const deed of deeds) {
    if (given.done) break
    given = plan.next(deed)
  }
  const isOpening = isFirst && deeds.length === 0
  if (given.done) return { text: introduced(given.value.says, isOpening) }
  const { say, job } = given.value
  const call = callFor(job, tools)
  if (!('missing' in call)) return { text: introduced(say, isOpening), call }
  const offered =
    tools.length === 0
      ? 'no tools are offered here'
      : `these are offered: ${brief(tools.map(({ name }) => name).join(', '), 300)}`
  return {
    text: introduced(`I would need the tool ${call.missing} for that, and it is missing: ${offered}.`, isOpening),
  }
}

const lost =
  'I have lost the thread: what was asked for is no longer in the conversation as I see it. Please say again what I should do.'

function whyUnreadable(prompt: string, hasMedia: boolean): string | undefined {
  if (prompt === '')
    return hasMedia
      ? 'I cannot see pictures or read documents; please say in words what to do.'
      : 'There is nothing in your message that I could read; please say what to do.'
  if (prompt.length > longestPrompt)
    return `Your message has ${prompt.length} characters, and I read no more than ${longestPrompt}; please say in a sentence what to do.`
  return undefined
}

/** A prompt mostly says where the agent is. */
function foldersIn(system: string): string[] {
  const found = [...system.slice(0, 20_000).matchAll(/(?<![\w/.])\/[\w@.+/-]{1,500}/g)].map(([path]) =>
    path.replace(/[./]+$/, ''),
  )
  return [...new Set(found)].slice(0, 20).sort((a, b) => b.length - a.length)
}

/** Agents that may look into wikis are told their names. */
function wikisIn(system: string): string[] {
  const at = system.indexOf('Wikis of the user')
  if (at < 0) return []
  return [...system.slice(at, at + 20_000).matchAll(/^- "([^"\n]{1,200})"/gm)].map(([, name]) => name!)
}

/** Said once, in the first answer of a conversation, unless the answer says it anyway. */
function introduced(text: string, isOpening: boolean): string {
  return isOpening && !text.includes(notAModel) ? `(${notAModel})\n\n${text}` : text
}

const isOffered = (job: Ask['job']['do'], tools: readonly ToolSpec[]): boolean => {
  const probe = {
    do: job,
    path: '.',
    text: '',
    pattern: '*',
    command: '',
    from: '',
    to: '',
    todos: [],
    url: '',
    at: '',
    question: '',
    options: [],
    wiki: '',
  } as Ask['job']
  return !('missing' in callFor(probe, tools))
}

/** One request after another. What is said about the end of one goes in front of what is said about the next. */
function* inTurn(requests: readonly Request[], around: Surroundings): Plan {
  let said = ''
  for (const [i, { text, intent }] of requests.entries()) {
    const ending = intent
      ? yield* prefixed(planFor(intent, around), said)
      : { says: joined(said, unsureAbout(text)), isStuck: true }
    said = ending.says
    const left = requests.slice(i + 1)
    if (!ending.isStuck || left.length === 0) continue
    const undone = left.map((request) => `“${brief(request.text, 60)}”`).join(', ')
    return { says: `${said}\n\nI stopped there; not done: ${undone}.` }
  }
  return { says: said }
}

function* prefixed(plan: Plan, said: string): Plan {
  let before = said
  let given: IteratorResult<Ask, Ending> = plan.next()
  while (!given.done) {
    const { say, job } = given.value
    const deed = yield { say: joined(before, say), job }
    before = ''
    given = plan.next(deed)
  }
  return { ...given.value, says: joined(before, given.value.says) }
}

const joined = (...texts: string[]): string => texts.filter((text) => text !== '').join('\n\n')
