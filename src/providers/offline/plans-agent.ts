import { failure, type PlanFor, saying } from './plan.ts'
import { brief, code, entriesIn } from './results.ts'

/** Plans for agents that stay: they are woken, ask, and look into wikis. */
export const agentPlans: { readonly [K in 'remind' | 'rung' | 'ask' | 'recent']: PlanFor<K> } = {
  *remind({ text, seconds }, { can }) {
    if (!can('alarm') || !can('time'))
      return {
        says: `I cannot wake up later here, as I have no alarm clock: I will forget ${code(text)}.`,
        isStuck: true,
      }
    const clock = yield { say: 'I will look at the clock.', job: { do: 'time' } }
    const now = Date.parse(/\bIt is now (\S+Z)\b/.exec(clock.text)?.[1] ?? '')
    if (clock.isError || Number.isNaN(now)) return failure(clock, 'find out what time it is')
    const at = new Date(now + seconds * 1000).toISOString()
    const deed = yield { say: `I will remind you of ${code(text)}.`, job: { do: 'alarm', at, text } }
    return deed.isError ? failure(deed, 'set the alarm clock') : { says: brief(deed.text, 200) }
  },

  rung({ text }) {
    return saying({ says: `It is time: ${brief(text, 400)}` })
  },

  *ask({ question, options }) {
    const deed = yield { say: '', job: { do: 'ask', question, options } }
    return deed.isError ? failure(deed, 'ask you') : { says: `Thank you. ${brief(deed.text, 400)}` }
  },

  *recent({ wiki }, { wikis }) {
    const name = wiki ?? wikis[0]
    if (name === undefined)
      return {
        says: 'I know of no wiki here. Which one do you mean? For example: what is new in the wiki notes',
        isStuck: true,
      }
    const deed = yield { say: `I will look into the wiki ${code(name)}.`, job: { do: 'recent', wiki: name } }
    if (deed.isError) return failure(deed, `look into the wiki ${code(name)}`)
    return { says: entriesIn(deed).slice(0, 21).join('\n') }
  },
}
