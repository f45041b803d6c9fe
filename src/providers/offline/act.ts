import type { ToolSpec } from '../../core/tool.ts'
import type { Conversation } from './conversation.ts'
import { type Call, callFor, type Job } from './jobs.ts'
import type { Plan, PlanContext, PlanEnd, PlanStep } from './plan.ts'
import { planFor } from './plans.ts'
import { maxPromptLength, type Request, understand } from './requests.ts'
import { brief } from './results.ts'
import { notAModel, unsureAbout } from './talk-plans.ts'

/** The next reply: a text, and a call if one is needed. */
export interface Step {
  readonly text: string
  readonly call?: Call
}

/** The next reply of a conversation. Depends on the arguments alone. */
export function nextStep(conversation: Conversation, tools: readonly ToolSpec[], system = ''): Step {
  const { prompt, hasMedia, isFirst, isLost, results } = conversation
  if (isLost) return { text: lost }
  const problem = problemOf(prompt, hasMedia)
  if (problem !== undefined) return { text: `${problem} ${notAModel}` }
  const requests = understand(prompt)
  if (results.length > 0 && requests.every(({ intent }) => intent === undefined)) return { text: lost }
  const can = (job: Job['do']): boolean => !('missing' in callFor({ ...anyJob, do: job } as Job, tools))
  const plan = oneAfterTheOther(requests, { conversation, can, folders: foldersIn(system), wikis: wikisIn(system) })
  let next = plan.next()
  for (const result of results) {
    if (next.done) break
    next = plan.next(result)
  }
  const introduced = (text: string): string =>
    isFirst && results.length === 0 && !text.includes(notAModel) ? `(${notAModel})\n\n${text}` : text
  if (next.done) return { text: introduced(next.value.says) }
  const call = callFor(next.value.job, tools)
  if (!('missing' in call)) return { text: introduced(next.value.say), call }
  const names = brief(tools.map(({ name }) => name).join(', '), 300)
  const offered = tools.length === 0 ? 'no tools are offered here' : `these are offered: ${names}`
  return { text: introduced(`I would need the tool ${call.missing} for that, and it is missing: ${offered}.`) }
}

/** Has every field of every job, to ask whether there is a tool for one. */
const anyJob = {
  ...{ path: '.', text: '', pattern: '*', command: '', from: '', to: '', todos: [] },
  ...{ url: '', at: '', question: '', options: [], wiki: '' },
}

const lost =
  'I have lost the thread: what was asked for is no longer in the conversation as I see it. Please say again what I should do.'

/** Why a prompt cannot be read. */
function problemOf(prompt: string, hasMedia: boolean): string | undefined {
  if (prompt === '' && hasMedia) return 'I cannot see pictures or read documents; please say in words what to do.'
  if (prompt === '') return 'There is nothing in your message that I could read; please say what to do.'
  if (prompt.length <= maxPromptLength) return undefined
  return `Your message has ${prompt.length} characters, and I read no more than ${maxPromptLength}; please say in a sentence what to do.`
}

/** The absolute paths in a system prompt, the longest first. */
function foldersIn(system: string): string[] {
  const found = [...system.slice(0, 20_000).matchAll(/(?<![\w/.])\/[\w@.+/-]{1,500}/g)]
  const paths = new Set(found.map(([path]) => path.replace(/[./]+$/, '')))
  return [...paths].slice(0, 20).sort((a, b) => b.length - a.length)
}

/** The names of wikis in a system prompt. */
function wikisIn(system: string): string[] {
  const at = system.indexOf('Wikis of the user')
  if (at < 0) return []
  return [...system.slice(at, at + 20_000).matchAll(/^- "([^"\n]{1,200})"/gm)].map(([, name]) => name!)
}

/** Plays the plans of all requests. The text at the end of one is put before the next text. */
function* oneAfterTheOther(requests: readonly Request[], context: PlanContext): Plan {
  let said = ''
  for (const [i, { text, intent }] of requests.entries()) {
    const end: PlanEnd = intent
      ? yield* withPrefix(said, planFor(intent, context))
      : { says: joined(said, unsureAbout(text)), isFailed: true }
    said = end.says
    const left = requests.slice(i + 1)
    if (!end.isFailed || left.length === 0) continue
    const undone = left.map((request) => `“${brief(request.text, 60)}”`).join(', ')
    return { says: `${said}\n\nI stopped there; not done: ${undone}.` }
  }
  return { says: said }
}

function* withPrefix(prefix: string, plan: Plan): Plan {
  let before = prefix
  let next: IteratorResult<PlanStep, PlanEnd> = plan.next()
  while (!next.done) {
    const result = yield { ...next.value, say: joined(before, next.value.say) }
    before = ''
    next = plan.next(result)
  }
  return { ...next.value, says: joined(before, next.value.says) }
}

const joined = (...texts: string[]): string => texts.filter((text) => text !== '').join('\n\n')
