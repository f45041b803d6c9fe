import { appendFileSync } from 'node:fs'
import { onFailpoint } from '../../src/core/log.ts'
import type { ModelRequest } from '../../src/core/provider.ts'
import { definePlugin } from '../../src/plugins/plugin.ts'
import { createSqliteStore } from '../../src/sessions/sqlite-store.ts'
import { memoryExecution } from '../../src/testing/memory-execution.ts'
import { call, type Step, scripted } from '../../src/testing/scripted.ts'
import { createWorkflow } from '../../src/workflow/workflow.ts'

/**
 * One life of a process with a workflow: goes on with what the one before it left, answers what is asked, and prints the
 * messages when all is done. Ends itself at a failpoint, or is killed by its parent.
 */
const [folder = '', diesAt = '0', diesAfterQuestion = '0'] = process.argv.slice(2)

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))
const mail = (n: number) => call(`mail${n}`, 'mail', { n })
const plan: readonly Step[] = [
  { text: 'Looking', calls: [call('look1', 'look'), mail(1)] },
  [mail(2), call('look2', 'look'), mail(3)],
  [call('question', 'ask-question', { question: 'Which colour?' })],
  [mail(4)],
  'All is done.',
]

/** What it says depends on what was said alone, as with a real model; and it takes its time. */
async function answer({ messages }: ModelRequest): Promise<Step> {
  await pause(2)
  return plan[messages.filter(({ role }) => role === 'assistant').length]!
}

const tool = (name: string, replay: 'pure' | 'opaque', execute: (n: unknown) => Promise<string>) => ({
  spec: { name, description: name, inputSchema: { type: 'object', properties: {} } },
  ...{ effects: [], replay },
  execute: ({ n }: Record<string, unknown>) => execute(n),
})
const tools = definePlugin({
  toolId: 'tools',
  displayName: 'Tools',
  description: 'Two tools.',
  tools: () => [
    tool('look', 'pure', async () => 'seen'),
    tool('mail', 'opaque', async (n) => {
      await pause(1)
      appendFileSync(`${folder}/sent.txt`, `${n} `)
      await pause(1)
      return `sent ${n}`
    }),
  ],
})

const errors: string[] = []
const workflow = createWorkflow({
  provider: scripted(...Array.from({ length: 20 }, () => answer)),
  store: createSqliteStore({ path: `${folder}/s.db` }),
  definitions: [
    {
      id: 'helper',
      config: {
        plugins: [
          { id: 'tools', toolId: 'tools' },
          { id: 'ask', toolId: 'ask-question', toolResultDuration: null },
        ],
        toolResultDuration: null,
      },
    },
  ],
  plugins: [tools],
  execution: memoryExecution(),
  onError: (error) => void errors.push(`${error.message} ${String(error.cause ?? '')}`),
})

let left = Number(diesAt)
onFailpoint(() => {
  if (--left === 0) process.kill(process.pid, 'SIGKILL')
})
process.stdout.write('begun\n')
const id = 'agent-x'
if (!(await workflow.getAgent(id))) await workflow.createAgent('helper', { id })
await workflow.start()
if ((await workflow.getMessages(id)).length === 0)
  void workflow.sendMsgToAgent(id, 'Write to all.', { clientKey: 'first' }).catch((error) => errors.push(String(error)))

const until = Date.now() + 20_000
for (let isAnswered = false; Date.now() < until; await pause(3)) {
  const { state } = await workflow.getStatus(id)
  if (state === 'completed') break
  const asked = (await workflow.pending(id)).find((one) => one.isQuestion)
  if (!asked || isAnswered) continue
  isAnswered = true
  process.stdout.write('asked\n')
  if (diesAfterQuestion !== '0') left = Number(diesAfterQuestion)
  void workflow.answerQuestion(id, asked.callId, 'red').catch((error) => errors.push(String(error)))
}
const { state } = await workflow.getStatus(id)
const messages = (await workflow.getMessages(id)).map(({ id: key, role, content }) => ({ key, role, content }))
process.stdout.write(`${JSON.stringify({ state, messages, errors })}\n`)
await workflow.close()
process.exit(0)
