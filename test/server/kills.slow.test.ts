import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { createSqliteStore } from '../../src/index.ts'
import { rounds } from '../soak.ts'
import { killableServer } from './killable-server.ts'
import { token } from './server-kit.ts'

test('SV91 clients that come and go, on a server that is killed twice, all end with the log, and no prompt is doubled', {
  timeout: 300_000,
}, async () => {
  const sessions = rounds(5, 20)
  const clients = rounds(12, 50)
  const prompts = 3
  const folder = mkdtempSync(join(tmpdir(), 'libero-server-kills-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 's.sqlite')
  const server = killableServer(path)
  await server.start()
  const ids = Array.from({ length: sessions }, (_, i) => `s${i}`)
  const over = new AbortController()

  /** Until it is answered, as a client would; the key makes repeating harmless. */
  async function send(path: string, body: object, key: string): Promise<void> {
    for (let tries = 0; tries < 400; tries++) {
      const status = await fetch(`${server.url}${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', 'idempotency-key': key },
        body: JSON.stringify(body),
      }).then(
        (response) => response.status,
        () => 0,
      )
      if (status === 202 || status === 201 || status === 409) return
      await pause(50)
    }
    throw new Error(`${path} was never accepted`)
  }

  async function follow(id: string, isSlow: boolean, entries: { seq: number }[]): Promise<unknown[]> {
    const fold = (text: string): void => {
      for (const frame of text.split('\n\n')) {
        if (!/^id: /m.test(frame)) continue
        entries.push(JSON.parse(/^data: (.*)$/m.exec(frame)![1]!).entry)
      }
    }
    while (!over.signal.aborted) {
      const drop = new AbortController()
      const timer = setTimeout(() => drop.abort(), 20 + Math.random() * 400)
      try {
        const response = await fetch(`${server.url}/v1/sessions/${id}/events?after=${entries.at(-1)?.seq ?? 0}`, {
          headers: { authorization: `Bearer ${token}` },
          signal: drop.signal,
        })
        if (!response.ok) throw new Error(String(response.status))
        let rest = ''
        for await (const piece of response.body!.pipeThrough(new TextDecoderStream())) {
          const all = rest + piece
          const cut = all.lastIndexOf('\n\n') + 2
          rest = all.slice(cut)
          fold(all.slice(0, cut))
          if (isSlow) await pause(20)
        }
      } catch {
        await pause(10)
      }
      clearTimeout(timer)
    }
    return entries
  }

  for (const id of ids) await send('/v1/sessions', { id }, `make-${id}`)
  const seen = Array.from({ length: clients }, (): { seq: number }[] => [])
  const following = Array.from({ length: clients }, async (_, i) => {
    await pause(Math.random() * 300)
    const id = ids[i % sessions]!
    return { id, entries: await follow(id, i % 5 === 0, seen[i]!) }
  })
  const sending = ids.map(async (id) => {
    for (let n = 0; n < prompts; n++) {
      // Sent twice, as by a client that did not see the answer.
      await Promise.all([0, 1].map(() => send(`/v1/sessions/${id}/messages`, { content: `prompt ${n}` }, `${id}-${n}`)))
      await pause(Math.random() * 200)
    }
  })
  for (let kill = 0; kill < 2; kill++) {
    await pause(300)
    await server.kill()
    await server.start()
  }
  await Promise.all(sending)
  const store = createSqliteStore({ path })
  onTestFinished(() => store.close?.())
  for (let i = 0; i < 2000; i++) {
    const all = await Promise.all(ids.map((id) => store.find(id)))
    if (all.every((one) => one!.status === 'idle' && one!.attention === undefined && !one!.isHeld)) break
    await pause(50)
  }
  await pause(500)
  const logs = new Map(await Promise.all(ids.map(async (id) => [id, await store.read(id)] as const)))
  // The clients come back until they have everything.
  const isBehind = (entries: readonly unknown[], i: number): boolean =>
    entries.length < logs.get(ids[i % sessions]!)!.length
  for (let i = 0; i < 2000 && seen.some(isBehind); i++) await pause(25)
  over.abort()
  for (const { id, entries } of await Promise.all(following)) expect(entries, id).toEqual(logs.get(id))
  for (const log of logs.values()) {
    const users = log.flatMap((entry) =>
      entry.type === 'turn' && entry.turn.role === 'user' ? entry.turn.content : [],
    )
    const texts = users.flatMap((block) => (block.type === 'text' ? [block.text] : []))
    expect(texts.sort()).toEqual(Array.from({ length: prompts }, (_, n) => `prompt ${n}`))
  }
})
