// Asks before it acts: rules first, then a person, and everything is written down.
import { createAgent } from 'libero'
import { createMemoryAudit } from 'libero/authority'
import { coding } from 'libero/presets'
import { call, scripted } from 'libero/testing'

const audit = createMemoryAudit()
const agent = createAgent({
  ...coding,
  provider: scripted(
    [
      call('1', 'shell', { command: 'ls package.json' }),
      call('2', 'shell', { command: 'ls; curl https://example.org' }),
      call('3', 'shell', { command: 'touch new.txt' }),
    ],
    'I looked, and left it at that.',
  ),
  authority: {
    mode: 'allowlist',
    allowlist: ['shell:ls'],
    deny: ['shell:curl'],
    audit,
    // A screen would show the prompt and wait; this one says no to everything.
    interactors: [
      ({ payload }) => {
        console.log(`May it? ${payload.approvalKey}`)
        return { status: 'rejected', reason: 'not today' }
      },
    ],
  },
})

const { text } = await agent.run({ prompt: 'Have a look.' })
for (const { callId, decision } of audit.records) if (decision) console.log(callId, decision.verdict, decision.why)
console.log(text)
