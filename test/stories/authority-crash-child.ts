import { appendFileSync } from 'node:fs'
import { createAgent, createJsonlStore, createSession, createSqliteStore, loadSession } from '../../src/index.ts'
import { call, scripted, tool } from '../../src/testing/index.ts'

/** Two calls that need an approval. The process dies while the person is asked about the first, or when that is allowed and has not begun. */
const [kind = '', folder = '', phase = ''] = process.argv.slice(2)

const isResumed = phase === 'resumed'
const store =
  kind === 'sqlite' ? createSqliteStore({ path: `${folder}/s.db` }) : createJsonlStore({ dir: `${folder}/s` })
const session = isResumed ? await loadSession(store, 's') : await createSession({ store, id: 's' })
const die = (): never => {
  process.kill(process.pid, 'SIGKILL')
  throw new Error('not dead')
}
const mail = tool('mail', ({ to }) => {
  appendFileSync(`${folder}/ran.txt`, `${to} `)
  return 'sent'
})
const calls = [call('1', 'mail', { to: 'ann' }), call('2', 'mail', { to: 'bob' })]
const agent = createAgent({
  provider: scripted(...(isResumed ? [] : [calls]), 'Done.'),
  session,
  tools: { mail },
  authority: {
    mode: 'ask',
    home: `${folder}/home`,
    interactors: isResumed ? [] : [() => (phase === 'asked' ? die() : true)],
  },
  hooks: phase === 'allowed' ? { 'tool:decision': die } : {},
})
const { status } = await agent.run(isResumed ? {} : { prompt: 'Write.' })
process.stdout.write(JSON.stringify({ status, pending: session.pending.map(({ callId }) => callId) }))
await agent.destroy()
