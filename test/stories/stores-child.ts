import { createAgent, createSession, createSqliteStore } from '../../src/index.ts'
import { call, scripted, tool } from '../../src/testing/index.ts'

/** Two whole turns, and then the process is gone in the middle of the third. */
const session = await createSession({ store: createSqliteStore({ path: process.argv[2] ?? '' }), id: 's' })
const provider = scripted([call('1', 'look')], [call('2', 'look')], () => {
  process.kill(process.pid, 'SIGKILL')
  return new Promise(() => {})
})
const look = tool('look', (_, { callId }) => `seen ${callId}`)
await createAgent({ provider, session, tools: { look } }).run({ prompt: 'Look twice.' })
