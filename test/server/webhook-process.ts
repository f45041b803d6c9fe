/**
 * A server in a process of its own, to be killed: `node webhook-process.ts <sqlite path> <receiver> <note> [<sessions>]`.
 * With a number of sessions it makes a webhook and so many sessions, and says when their runs have ended. It kills itself
 * before it writes this note of a delivery, which the receiver has accepted by then; after it, if the number is negative.
 */
import { createAgent, createSqliteStore, type SessionStore } from '../../src/index.ts'
import { createServer } from '../../src/server/index.ts'
import { scripted } from '../../src/testing/index.ts'

const [path = '', url = '', killsAt = '0', sessions = '0'] = process.argv.slice(2)
const token = 'a-token-of-at-least-32-characters-0'
const stored = createSqliteStore({ path })
let notes = 0
const store: SessionStore = {
  ...stored,
  async append(id, entries, fence) {
    const isNote = entries.some((entry) => entry.type === 'state' && entry.owner === 'webhook:cursor')
    if (isNote && ++notes === Number(killsAt)) process.kill(process.pid, 'SIGKILL')
    await stored.append(id, entries, fence)
    if (isNote && -notes === Number(killsAt)) process.kill(process.pid, 'SIGKILL')
  },
}
const server = createServer({
  store,
  auth: { token },
  webhooks: { allowPrivate: ['127.0.0.1'] },
  async agentFor({ session }) {
    const agent = createAgent({ provider: scripted('Done.', 'Done.'), session })
    return { agent, close: () => agent.destroy() }
  },
})

async function send(route: string, body: object): Promise<void> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json', prefer: 'wait=60' }
  const request = new Request(`http://127.0.0.1${route}`, { method: 'POST', headers, body: JSON.stringify(body) })
  const { status } = await server.fetch(request)
  if (status >= 300) throw new Error(`${route} was answered ${status}`)
}

if (Number(sessions) > 0) await send('/v1/webhooks', { url, events: ['run_ended'], secret: process.env.SECRET })
await server.start()
for (let i = 0; i < Number(sessions); i++) {
  await send('/v1/sessions', { id: `s${i}` })
  for (const content of ['One', 'Two']) await send(`/v1/sessions/s${i}/messages`, { content })
}
if (Number(sessions) > 0) console.log('all runs have ended')
