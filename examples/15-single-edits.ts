// A person decides about each edit of a call: the tool makes the allowed ones, and the model reads why the others were denied.
import { createAgent } from 'libero'
import { parseEditOutcomesFromResult } from 'libero/chat'
import { call, memoryExecution, scripted } from 'libero/testing'
import { multiEdit } from 'libero/tools'

const edits = [
  { old_string: 'port = 80', new_string: 'port = 8080' },
  { old_string: 'debug = false', new_string: 'debug = true' },
]
const execution = memoryExecution({ files: { 'app.ini': 'port = 80\ndebug = false\n' } })
const agent = createAgent({
  provider: scripted([call('1', 'multi_edit', { path: 'app.ini', edits })], 'Then without debugging.'),
  tools: { multiEdit },
  execution,
  authority: {
    mode: 'ask',
    interactors: [
      ({ payload }) => {
        console.log(`May it? ${payload.toolId} with ${payload.edits} edits`)
        const decisions = [{ decision: 'allow' }, { decision: 'deny', note: 'not in production' }]
        return { status: 'accepted', value: { edits: decisions } }
      },
    ],
  },
})
agent.hooks.hook('tool:after', ({ result }) => {
  console.log(result)
  console.log(
    parseEditOutcomesFromResult(String(result))
      ?.map(({ outcome }) => outcome)
      .join(', '),
  )
})

const { text } = await agent.run({ prompt: 'Make it run on my machine.' })
console.log(text)
console.log(execution.files.get('/project/app.ini'))
