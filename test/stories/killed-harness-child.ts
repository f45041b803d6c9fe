import { createAgent, createJsonlStore, createProcessContext, createSession } from '../../src/index.ts'
import { call, scripted } from '../../src/testing/index.ts'
import { shell } from '../../src/tools/index.ts'

/** Starts a background job and then a command that both write for ever, and waits to be killed. */
const [folder = ''] = process.argv.slice(2)
const endless = (name: string): string => `while :; do echo tick >> ${folder}/${name}.txt; sleep 0.05; done`
const provider = scripted(
  [call('job', 'shell', { command: endless('job'), background: true })],
  [call('command', 'shell', { command: endless('command') })],
)
const session = await createSession({ store: createJsonlStore({ dir: `${folder}/sessions` }), id: 's' })
const agent = createAgent({ provider, session, tools: { shell }, execution: createProcessContext({ cwd: folder }) })
await agent.run({ prompt: 'Write for ever.' })
