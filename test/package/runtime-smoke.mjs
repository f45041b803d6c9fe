// What an agent needs of a runtime, each part once. Prints one line per part; runs in Node, Bun and Deno.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  createAgent,
  createJsonlStore,
  createProcessContext,
  createSession,
  createSqliteStore,
  loadSession,
} from 'libero'
import { createRemoteAgent } from 'libero/client'
import { offline } from 'libero/providers'
import { createServer } from 'libero/server'
import { call, scripted } from 'libero/testing'
import { createGrepTool, grep, shell } from 'libero/tools'
import { createWorkflow } from 'libero/workflow'

const folder = mkdtempSync(join(tmpdir(), 'libero-runtime-'))
writeFileSync(join(folder, 'list.txt'), 'apples\npears\n')

/** One call of one tool, and its result. */
async function resultOf(tool, input) {
  const provider = scripted([call('1', tool.spec.name, input)], 'done')
  const execution = createProcessContext({ cwd: folder, sandbox: 'off' })
  const agent = createAgent({ provider, tools: { [tool.spec.name]: tool }, execution })
  await agent.run({ prompt: 'go' })
  const [result] = agent.turns.flatMap(({ content }) => content.filter(({ type }) => type === 'tool_result'))
  await agent.destroy()
  return result.output
}

/** A conversation that is kept, read again and continued. */
async function keptIn(store) {
  const first = createAgent({ provider: scripted('one'), session: await createSession({ store, id: 's' }) })
  await first.run({ prompt: 'go' })
  await first.destroy()
  const again = createAgent({ provider: scripted('two'), session: await loadSession(store, 's') })
  await again.run({ prompt: 'on' })
  const { length } = again.turns
  await again.destroy()
  await store.close?.()
  return length
}

const parts = {
  async agent() {
    const agent = createAgent({ provider: offline() })
    const { status } = await agent.run({ prompt: 'hello' })
    await agent.destroy()
    return status
  },
  shell: async () => /^apples\n/.test(await resultOf(shell, { command: 'head -n 1 list.txt' })),
  search: async () => (await resultOf(grep, { pattern: 'pear' })).includes('list.txt'),
  fallback: async () => (await resultOf(createGrepTool({ ripgrep: false }), { pattern: 'pear' })).includes('list.txt'),
  sqlite: () => keptIn(createSqliteStore({ path: join(folder, 'sessions.db') })),
  jsonl: () => keptIn(createJsonlStore({ dir: join(folder, 'sessions') })),
  async workflow() {
    const workflow = createWorkflow({ provider: scripted('hi'), definitions: [{ id: 'clerk' }] })
    const { id } = await workflow.createAgent('clerk')
    const { state } = await workflow.sendMsgToAgent(id, 'go')
    await workflow.close()
    return state
  },
  async server() {
    const store = createSqliteStore({ path: join(folder, 'served.db') })
    const token = 'a-secret-of-at-least-32-characters'
    const server = createServer({
      store,
      auth: { token },
      async agentFor({ session }) {
        const agent = createAgent({ session, provider: scripted('served') })
        return { agent, close: () => agent.destroy() }
      },
    })
    const fetch = (url, init) => server.fetch(new Request(url, init))
    const { text } = await createRemoteAgent({ url: 'http://localhost', token, fetch }).run({ prompt: 'go' })
    await server.close()
    await store.close?.()
    return text
  },
}

for (const [name, part] of Object.entries(parts)) {
  try {
    console.log(`${name}: ${await part()}`)
  } catch (error) {
    console.log(`${name}: FAILED ${error?.stack ?? error}`)
  }
}
rmSync(folder, { recursive: true, force: true })
process.exit(0)
