import { nearest } from '../../core/nearest.ts'
import type { CallResult, EarlierRequest } from './conversation.ts'
import { failure, oneCall, type Plan, type PlanEnd, type PlanFor } from './plan.ts'
import type { Kind } from './requests.ts'
import { brief, code, counted, entriesIn } from './results.ts'

/** Said in the first reply, in help, and when a request is not understood. */
export const notAModel = 'I am the offline model: a small set of rules, not a language model.'

/** A sentence of each kind that is always understood, for help and questions. */
const examples: Readonly<Partial<Record<Kind, string>>> = {
  list: 'list the files in src',
  read: 'read package.json',
  search: 'search for TODO in src',
  files: 'find files named *.test.ts',
  run: 'run `npm test`',
  fix: 'fix the failing test',
  replace: 'replace "colour" with "color" in README.md',
  create: 'create notes.txt with "hello"',
  append: 'append "bye" to notes.txt',
  count: 'count the lines in README.md',
  changes: 'what changed',
  note: 'remember to update the changelog',
  notes: 'show the todo list',
  fetch: 'fetch https://example.com/',
  remind: 'remind me in 10 minutes to stretch',
  ask: 'ask me: tea or coffee?',
  recent: 'what is new in the wiki notes',
  summary: 'summarise what you did',
  help: 'what can you do',
}

type TalkKind = 'help' | 'greeting' | 'summary' | 'incomplete' | 'note' | 'notes' | 'remind' | 'rung' | 'ask' | 'recent'

/** Plans about the conversation, the list of things to do, reminders and wikis. */
export const talkPlans: { readonly [K in TalkKind]: PlanFor<K> } = {
  help() {
    const list = Object.values(examples).map((example) => `- ${example}`)
    return saying(
      `${notAModel} These are things I understand, in about these words:\n\n${list.join('\n')}\n\nSeveral of them, with “then” between them, are done one after another. For everything else, set a key for a real model, such as ANTHROPIC_API_KEY or OPENAI_API_KEY.`,
    )
  },

  greeting: () =>
    saying(
      `Hello. Tell me what to do, for example: ${examples.list}. “${examples.help}” shows everything I understand.`,
    ),

  summary: (_, { conversation }) => saying(summaryOf(conversation.earlier)),

  incomplete: ({ question, like }) => failing(`${question} For example: ${examples[like]}`),

  rung: ({ text }) => saying(`It is time: ${brief(text, 400)}`),

  notes: () =>
    oneCall({ say: 'I will look at the list.', job: { do: 'read notes' } }, 'read the list', (result) => {
      const { length } = todosIn(result)
      if (length === 0) return 'The list is empty.'
      return `${counted(length, 'thing is', 'things are')} on the list:\n\n${entriesIn(result).join('\n')}`
    }),

  *note({ text }) {
    const before = yield { say: 'I will look at the list first.', job: { do: 'read notes' } }
    if (before.isError) return failure(before, 'read the list')
    const todos = [...todosIn(before), { content: text, status: 'pending' }]
    const things = todos.length === 1 ? 'is 1 thing' : `are ${todos.length} things`
    const step = { say: `I will add ${code(text)}.`, job: { do: 'write notes', todos } } as const
    return yield* oneCall(step, 'write the list', () => `Noted. There ${things} on the list now.`)
  },

  *remind({ text, seconds }, { can }) {
    if (!can('alarm') || !can('time'))
      return yield* failing(`I cannot wake up later here, as I have no alarm clock: I will forget ${code(text)}.`)
    const clock = yield { say: 'I will look at the clock.', job: { do: 'time' } }
    const now = Date.parse(/\bIt is now (\S+Z)\b/.exec(clock.text)?.[1] ?? '')
    if (clock.isError || Number.isNaN(now)) return failure(clock, 'find out what time it is')
    const at = new Date(now + seconds * 1000).toISOString()
    const step = { say: `I will remind you of ${code(text)}.`, job: { do: 'alarm', at, text } } as const
    return yield* oneCall(step, 'set the alarm clock', (result) => brief(result.text, 200))
  },

  ask: ({ question, options }) =>
    oneCall(
      { say: '', job: { do: 'ask', question, options } },
      'ask you',
      ({ text }) => `Thank you. ${brief(text, 400)}`,
    ),

  recent({ wiki }, { wikis }) {
    const name = wiki ?? wikis[0]
    if (name === undefined)
      return failing('I know of no wiki here. Which one do you mean? For example: what is new in the wiki notes')
    const step = { say: `I will look into the wiki ${code(name)}.`, job: { do: 'recent', wiki: name } } as const
    return oneCall(step, `look into the wiki ${code(name)}`, (result) => entriesIn(result).slice(0, 21).join('\n'))
  },
}

const saying = (says: string): Plan => endingWith({ says })
const failing = (says: string): Plan => endingWith({ says, isFailed: true })

// biome-ignore lint/correctness/useYield: a plan without a step
function* endingWith(end: PlanEnd): Plan {
  return end
}

const statuses: Readonly<Record<string, string>> = { '[ ]': 'pending', '[>]': 'in_progress', '[x]': 'completed' }

function todosIn(result: CallResult): { content: string; status: string }[] {
  return entriesIn(result).flatMap((line) => {
    const [, box, content] = /^\d+\. (\[[ >x]\]) (.+)$/.exec(line) ?? []
    return box && content ? [{ content, status: statuses[box] ?? 'pending' }] : []
  })
}

const maxSummarised = 12

function summaryOf(earlier: readonly EarlierRequest[]): string {
  const worked = earlier.filter(({ results }) => results.length > 0)
  if (worked.length === 0) return 'I have done nothing yet in this conversation.'
  const limit = worked.length > maxSummarised ? ` (the last ${maxSummarised} of ${worked.length} requests)` : ''
  return `This is what I did${limit}:\n\n${worked.slice(-maxSummarised).map(summaryLine).join('\n')}`
}

function summaryLine({ prompt, results }: EarlierRequest): string {
  const byTool = new Map<string, number>()
  for (const { name } of results) byTool.set(name, (byTool.get(name) ?? 0) + 1)
  const used = [...byTool].map(([name, count]) => (count === 1 ? name : `${name} ${count} times`)).join(', ')
  const failed = results.filter(({ isError }) => isError).length
  const paths = results.flatMap(({ name, input, isError }) =>
    /^(?:edit|multi_edit|write|write_file)$/.test(name) && !isError && typeof input.path === 'string'
      ? [input.path]
      : [],
  )
  const changed = paths.length > 0 ? `; changed ${[...new Set(paths)].map(code).join(', ')}` : ''
  return `- ${brief(prompt, 100)}: ${used}${failed > 0 ? ` (${failed} of ${results.length} failed)` : ''}${changed}`
}

/** The reply to a request that is not understood: a question with the nearest examples. */
export function unsureAbout(text: string): string {
  const [first, ...others] = nearestKinds(text).map((kind) => `“${examples[kind]}”`)
  const reason =
    text.trim() === ''
      ? 'You did not say anything that I can read.'
      : `I am not sure what you mean by “${brief(text, 80)}”.`
  return `${reason} ${notAModel} Did you mean something like ${first}? I also understand ${others.join(' and ')}; “${examples.help}” shows the rest.`
}

/** Words that suggest a kind. */
const hints: Readonly<Partial<Record<Kind, string>>> = {
  list: 'list ls dir files folder directory show what contents',
  read: 'read show open view print cat file look display explain describe',
  search: 'search find grep look for where text occurrence usage',
  files: 'find files named called matching pattern',
  run: 'run execute command shell start install build script npm git commit',
  fix: 'fix repair mend test tests failing bug error broken solve debug',
  replace: 'replace change edit rename modify update refactor substitute swap',
  create: 'create make write new file add generate save',
  append: 'append add end',
  count: 'count how many lines',
  changes: 'changed diff status git changes different',
  note: 'remember todo note task remind',
  fetch: 'fetch download url web page http get',
  remind: 'remind reminder alarm wake later',
  recent: 'wiki page pages tiddler recent',
  summary: 'summarise summary recap did done',
}

function nearestKinds(text: string): Kind[] {
  const words =
    text
      .slice(0, 300)
      .toLowerCase()
      .match(/[a-z]{2,20}/g) ?? []
  const scores = Object.entries(hints).map(([kind, hint]) => ({
    kind: kind as Kind,
    score: scoreOf(words, hint.split(' ')),
  }))
  const best = scores.filter(({ score }) => score > 0).sort((a, b) => b.score - a.score)
  return [...new Set([...best.map(({ kind }) => kind), 'list', 'read', 'run'] as const)].slice(0, 3)
}

/** The first word counts three times, an exact match twice as much as a similar word. */
function scoreOf(words: readonly string[], hints: readonly string[]): number {
  const long = hints.filter(({ length }) => length > 3)
  let score = 0
  for (const [i, word] of words.slice(0, 20).entries()) {
    const isSimilar = word.length > 3 && nearest(word, long, 1).length > 0
    score += (i === 0 ? 3 : 1) * (hints.includes(word) ? 2 : Number(isSimilar))
  }
  return score
}
