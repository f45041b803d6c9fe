import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { rounds } from '../soak.ts'
import { killableServer } from './killable-server.ts'
import { token, until } from './server-kit.ts'

const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }

// `npm run soak server`: 200 sessions for ten minutes.
test('SV99 under steady work every message is answered, streams are given back, and memory stays flat', {
  timeout: 900_000,
}, async () => {
  const sessions = rounds(8, 200)
  const seconds = rounds(2, 600)
  const folder = mkdtempSync(join(tmpdir(), 'libero-server-long-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const server = killableServer(join(folder, 's.sqlite'))
  await server.start()
  const metric = async (name: string): Promise<number> => {
    const text = await (await fetch(`${server.url}/metrics`, { headers })).text()
    return Number(new RegExp(`^${name} (.*)$`, 'm').exec(text)![1])
  }
  const end = Date.now() + seconds * 1000
  let answered = 0

  async function client(id: string): Promise<void> {
    await (
      await fetch(`${server.url}/v1/sessions`, { method: 'POST', headers, body: JSON.stringify({ id }) })
    ).arrayBuffer()
    do {
      const drop = new AbortController()
      const following = fetch(`${server.url}/v1/sessions/${id}/events`, { headers, signal: drop.signal })
        .then((response) => response.text())
        .catch(() => '')
      const response = await fetch(`${server.url}/v1/sessions/${id}/messages`, {
        method: 'POST',
        headers: { ...headers, prefer: 'wait=60' },
        body: JSON.stringify({ content: 'Go on' }),
      })
      const { run } = (await response.json()) as { run?: { status: string } }
      if (response.status !== 429) expect(run?.status).toBe('completed')
      answered++
      drop.abort()
      await following
      await pause(Math.random() * seconds * 10)
    } while (Date.now() < end)
  }

  const memory: number[] = []
  const working = Promise.all(Array.from({ length: sessions }, (_, i) => client(`s${i}`)))
  let isOver = false
  void working.finally(() => {
    isOver = true
  })
  while (!isOver) {
    await pause(1000)
    memory.push(await metric('libero_memory_bytes'))
  }
  await working
  expect(answered).toBeGreaterThanOrEqual(sessions)
  await until(async () => (await metric('libero_streams')) === 0 && (await metric('libero_runs')) === 0)
  const third = Math.floor(memory.length / 3)
  const mean = (list: readonly number[]): number => list.reduce((sum, one) => sum + one, 0) / list.length
  // Only a long run shows whether memory grows.
  if (memory.length > 100) expect(mean(memory.slice(-third)) / mean(memory.slice(third, 2 * third))).toBeLessThan(1.15)
  console.log(`${answered} messages, ${memory.map((one) => Math.round(one / 1e6)).filter((_, i) => i % 30 === 0)} MB`)
})
