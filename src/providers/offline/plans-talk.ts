import type { Conversation, Deed, Episode } from './conversation.ts'
import { examples, type Kind } from './intent.ts'
import { failure, type PlanFor, saying } from './plan.ts'
import { brief, code, counted, entriesIn } from './results.ts'

/** Plans that are about the conversation, and those for the list of things to remember. */
export const talkPlans: {
  readonly [K in 'help' | 'greeting' | 'summary' | 'incomplete' | 'note' | 'notes']: PlanFor<K>
} = {
  help() {
    const list = Object.values(examples).map((example) => `- ${example}`)
    return saying({
      says: `${notAModel} These are things I understand, in about these words:\n\n${list.join('\n')}\n\nSeveral of them, with “then” between them, are done one after another. For everything else, set a key for a real model, such as ANTHROPIC_API_KEY or OPENAI_API_KEY.`,
    })
  },

  greeting() {
    return saying({
      says: `Hello. Tell me what to do, for example: ${examples.list}. “${examples.help}” shows everything I understand.`,
    })
  },

  summary(_, { conversation }) {
    return saying({ says: summaryOf(conversation) })
  },

  incomplete({ question, like }) {
    return saying({ says: `${question} For example: ${examples[like as Kind]}`, isStuck: true })
  },

  *notes() {
    const deed = yield { say: 'I will look at the list.', job: { do: 'read notes' } }
    if (deed.isError) return failure(deed, 'read the list')
    const todos = todosIn(deed)
    if (todos.length === 0) return { says: 'The list is empty.' }
    return {
      says: `${counted(todos.length, 'thing is', 'things are')} on the list:\n\n${entriesIn(deed).join('\n')}`,
    }
  },

  *note({ text }) {
    const before = yield { say: 'I will look at the list first.', job: { do: 'read notes' } }
    if (before.isError) return failure(before, 'read the list')
    const todos = [...todosIn(before), { content: text, status: 'pending' }]
    const deed = yield { say: `I will add ${code(text)}.`, job: { do: 'write notes', todos } }
    return deed.isError
      ? failure(deed, 'write the list')
      : { says: `Noted. There ${todos.length === 1 ? 'is 1 thing' : `are ${todos.length} things`} on the list now.` }
  },
}

/** What must be said before anybody takes this for something else. */
export const notAModel = 'I am the offline model: a small set of rules, not a language model.'

const statuses: Readonly<Record<string, string>> = { '[ ]': 'pending', '[>]': 'in_progress', '[x]': 'completed' }

function todosIn(deed: Deed): { content: string; status: string }[] {
  return entriesIn(deed).flatMap((line) => {
    const [, box, content] = /^\d+\. (\[[ >x]\]) (.+)$/.exec(line) ?? []
    return box && content ? [{ content, status: statuses[box] ?? 'pending' }] : []
  })
}

const mostTold = 12

function summaryOf({ earlier }: Conversation): string {
  const told = earlier.filter(({ deeds }) => deeds.length > 0)
  if (told.length === 0) return 'I have done nothing yet in this conversation.'
  const lines = told.slice(-mostTold).map(lineOf)
  const before = told.length > mostTold ? ` (the last ${mostTold} of ${told.length} requests)` : ''
  return `This is what I did${before}:\n\n${lines.join('\n')}`
}

function lineOf({ prompt, deeds }: Episode): string {
  const byTool = new Map<string, number>()
  for (const { name } of deeds) byTool.set(name, (byTool.get(name) ?? 0) + 1)
  const used = [...byTool].map(([name, count]) => (count === 1 ? name : `${name} ${count} times`)).join(', ')
  const failed = deeds.filter(({ isError }) => isError).length
  const files = [...new Set(deeds.flatMap(changedFile))]
  const changed = files.length > 0 ? `; changed ${files.map(code).join(', ')}` : ''
  return `- ${brief(prompt, 100)}: ${used}${failed > 0 ? ` (${failed} of ${deeds.length} failed)` : ''}${changed}`
}

function changedFile({ name, input, isError }: Deed): string[] {
  const isChange = /^(?:edit|multi_edit|write|write_file)$/.test(name)
  return isChange && !isError && typeof input.path === 'string' ? [input.path] : []
}
