// A session in SQLite, and a call that needs an approval. The run ends, a person approves from elsewhere, the run continues.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type AgentHookMap, createAgent, createSession, createSqliteStore, loadSession } from 'libero'
import { call, scripted, tool } from 'libero/testing'

const folder = await mkdtemp(join(tmpdir(), 'libero-example-'))
const path = join(folder, 'sessions.db')
const tools = { deploy: tool('deploy', ({ to }: { to: string }) => `deployed to ${to}`) }
const hooks: AgentHookMap = {
  'tool:gate': (ctx) => {
    if (!ctx.approval) ctx.halt = { reason: 'approval needed', request: ctx.input }
  },
  'tool:after': ({ name, result }) => console.log(`${name}: ${result}`),
}

const store = createSqliteStore({ path })
const session = await createSession({ store, id: 'release' })
const first = scripted([call('1', 'deploy', { to: 'production' })])
const stats = await createAgent({ provider: first, session, tools, hooks }).run({ prompt: 'Ship it.' })
console.log(`${stats.status}: ${stats.stopReason}`)
await store.close?.() // this process could end here

// A web page or another process, a week later: anything that can open the file.
const elsewhere = createSqliteStore({ path })
const seen = await loadSession(elsewhere, 'release')
for (const { callId, name, request } of seen.pending) {
  console.log(`${name} wants`, request)
  await seen.answer(callId, { decision: 'allow', by: 'ann' })
}

// A run without a prompt goes on where the session stands.
const next = await loadSession(elsewhere, 'release')
const { text } = await createAgent({ provider: scripted('It is live.'), session: next, tools, hooks }).run()
console.log(text, `(${next.turns.length} turns, ${next.runs.length} runs)`)
await elsewhere.close?.()
await rm(folder, { recursive: true })
