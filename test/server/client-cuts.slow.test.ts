import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { createRemoteAgent, createRemoteClient } from '../../src/client/index.ts'
import type { LogEntry } from '../../src/core/log.ts'
import type { Provider } from '../../src/core/provider.ts'
import { createSqliteStore, type SessionStore } from '../../src/index.ts'
import { call, scripted, tool } from '../../src/testing/index.ts'
import { emptyView, foldEntries, foldEvent, type SessionView } from '../../src/view/session-view.ts'
import { rounds } from '../soak.ts'
import { type CuttingProxy, cuttingProxy, listen, remote } from './http-kit.ts'
import { startServer } from './server-kit.ts'

test('SV43 clients whose connections are cut at random, over servers that are replaced, end with the log, and no prompt is doubled', async () => {
  const prompts = rounds(6, 40)
  const { store, proxy, restart } = await cutServer(6_000)
  const client = createRemoteClient(remote(proxy.url))
  const { id } = await client.sessions.make({ title: 'Cut' })
  const stop = new AbortController()
  const readers = [0, 0, 0, 5, 20].map((slowMs) => read(proxy, id, { slowMs, signal: stop.signal }))
  for (let n = 0; n < prompts; n++) {
    const { clientKey } = await client.send(id, { content: `prompt ${n}` })
    // As by a program that was started again and does not know whether it had sent it.
    await client.send(id, { content: `prompt ${n}`, key: clientKey })
    if (n === 2 || n === 4) await restart()
  }
  await idle(store, id)
  const log = await store.read(id)
  proxy.relent()
  for (const { entries, views } of readers) {
    while (entries.length < log.length) await pause(10)
    expect(entries).toEqual(log)
    expect(rowsOf(views[0]!)).toEqual(rowsOf(foldEntries(emptyView, log)))
  }
  stop.abort()
  await Promise.all(readers.map(({ done }) => done))
  expect(proxy.cuts).toBeGreaterThan(3)
  expect(promptsIn(log)).toEqual(Array.from({ length: prompts }, (_, n) => `prompt ${n}`))
})

test('SV44 a remote agent waits for the run that answers its prompt, whatever happens to connections and servers', async () => {
  const { store, proxy, restart } = await cutServer(6_000)
  const agents = Array.from({ length: 3 }, (_, i) => createRemoteAgent({ ...remote(proxy.url), session: `a${i}` }))
  const running = agents.flatMap((agent, i) =>
    [0, 1].map(async (n) => ({ i, n, ran: await agent.run({ prompt: `prompt ${n} of ${i}` }) })),
  )
  await pause(50)
  await restart()
  for (const { i, n, ran } of await Promise.all(running)) {
    expect(ran).toMatchObject({ status: 'completed', stop: 'end', usage: { calls: expect.any(Number) } })
    expect(ran.text).toContain(`of ${i}`)
    expect(
      [0, 1].some((one) => ran.text.includes(`prompt ${one}`)),
      `${n}: ${ran.text}`,
    ).toBe(true)
  }
  for (const agent of agents)
    expect(promptsIn(await store.read(agent.session)).sort()).toEqual(
      [0, 1].map((n) => `prompt ${n} of ${agent.session.slice(1)}`),
    )
})

/** Reads a session through the proxy, as slowly as told, and folds what comes. */
function read(
  proxy: CuttingProxy,
  id: string,
  { slowMs, signal }: { readonly slowMs: number; readonly signal: AbortSignal },
) {
  const entries: LogEntry[] = []
  const views = [emptyView]
  const done = (async () => {
    for await (const event of createRemoteClient(remote(proxy.url)).events(id, { signal })) {
      if (event.durable) entries.push(event.entry)
      views[0] = foldEvent(views[0]!, event)
      if (slowMs > 0) await pause(slowMs)
    }
  })()
  return { entries, views, done }
}

/** A server behind a proxy that cuts connections, and a way to replace it by another one on the same store. */
async function cutServer(
  mostBytes: number,
): Promise<{ store: SessionStore; proxy: CuttingProxy; restart(): Promise<void> }> {
  const folder = mkdtempSync(join(tmpdir(), 'libero-client-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const store = createSqliteStore({ path: join(folder, 's.sqlite') })
  onTestFinished(() => store.close?.())
  const start = async () => {
    const { server } = await startServer({
      ...{ store, provider: talker, tools: { look: { ...tool('look', () => 'seen'), gated: false } } },
    })
    await server.start()
    const door = await listen(server.fetch)
    return { server, door }
  }
  let now = await start()
  const proxy = await cuttingProxy(now.door.port, mostBytes)
  return {
    store,
    proxy,
    async restart() {
      await now.door.close()
      await now.server.close()
      now = await start()
      proxy.leadTo(now.door.port)
    },
  }
}

/** Calls a tool, then repeats what it was told, piece by piece. */
function talker(): Provider {
  const step: Parameters<typeof scripted>[0] = async ({ messages }) => {
    await pause(5)
    const isResult = messages.at(-1)?.content.some(({ type }) => type === 'tool_result')
    if (!isResult) return [call(`c${messages.length}`, 'look')]
    const said = messages.flatMap(({ role, content }) => (role === 'user' ? content : []))
    const last = said.findLast((block) => block.type === 'text')
    return `You said: ${last?.type === 'text' ? last.text : ''}. ${'And so on. '.repeat(20)}`
  }
  return scripted(...Array.from({ length: 200 }, () => step))
}

async function idle(store: SessionStore, id: string): Promise<void> {
  for (;;) {
    const found = await store.find(id)
    if (found?.status === 'idle' && found.attention === undefined && !found.isHeld) return
    await pause(20)
  }
}

/** Without what a view only has of events that are not kept. */
const rowsOf = ({ rows }: SessionView): unknown[] => [...rows].map((row) => ({ ...row, live: undefined }))

const promptsIn = (log: readonly LogEntry[]): string[] =>
  log.flatMap((entry) =>
    entry.type === 'turn' && entry.turn.role === 'user'
      ? entry.turn.content.flatMap((block) => (block.type === 'text' ? [block.text] : []))
      : [],
  )
