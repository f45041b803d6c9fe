import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { get } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { atMost, type Result } from './measure.ts'

const token = 'a-token-of-at-least-32-characters-0'
const streams = 5000
const sessions = 500
const idleSeconds = 10

/** What idle event streams cost, and how fast a run stops. */
export async function server(): Promise<Result[]> {
  const folder = mkdtempSync(join(tmpdir(), 'libero-bench-'))
  const args = ['--expose-gc', '--conditions=libero-source', fileURLToPath(new URL('server-child.ts', import.meta.url))]
  const child = spawn(process.execPath, [...args, join(folder, 's.sqlite'), token], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const state = async (): Promise<{ rss: number; used: number; calls: number }> => {
    child.stdin.write('\n')
    return JSON.parse(String((await lines.next()).value))
  }
  try {
    const port = Number((await lines.next()).value)
    const url = `http://127.0.0.1:${port}/v1/sessions`
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    for (let i = 0; i < sessions; i++)
      await (await fetch(url, { method: 'POST', headers, body: JSON.stringify({ id: `s${i}` }) })).arrayBuffer()
    const stops = await stopTimes(url, headers)

    const before = await state()
    const open = await openStreams(port)
    await new Promise((resolve) => setTimeout(resolve, 2000))
    const after = await state()
    await new Promise((resolve) => setTimeout(resolve, idleSeconds * 1000))
    const later = await state()
    for (const one of open) one.destroy()
    return [
      atMost(`${streams} idle streams, KB of live memory each`, (after.used - before.used) / streams / 1024, 30),
      // What the process holds is more: of a stream that node:http and hono alone keep open, about 27 KB.
      atMost(`${streams} idle streams, KB of resident memory each`, (after.rss - before.rss) / streams / 1024, 60),
      atMost(`${streams} idle streams, calls of the store a second`, (later.calls - after.calls) / idleSeconds, 5),
      atMost('stop is acknowledged, slowest of 20, ms', stops.acknowledged, 200),
      atMost('a stopped run has ended in the log, slowest of 20, ms', stops.ended, 2000),
    ]
  } finally {
    child.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  }
}

function openStreams(port: number): Promise<{ destroy(): void }[]> {
  return Promise.all(
    Array.from(
      { length: streams },
      (_, i) =>
        new Promise<{ destroy(): void }>((resolve, reject) => {
          const path = `/v1/sessions/s${i % sessions}/events`
          const request = get(
            { port, path, agent: false, headers: { authorization: `Bearer ${token}` } },
            (response) => {
              response.resume()
              if (response.statusCode === 200) resolve(request)
              else reject(new Error(`a stream was refused with ${response.statusCode}`))
            },
          )
          request.on('error', reject)
        }),
    ),
  )
}

async function stopTimes(
  url: string,
  headers: Record<string, string>,
): Promise<{ acknowledged: number; ended: number }> {
  let [acknowledged, ended] = [0, 0]
  for (let i = 0; i < 20; i++) {
    const session = `${url}/s${i}`
    await fetch(`${session}/messages`, { method: 'POST', headers, body: JSON.stringify({ content: 'Go' }) })
    for (;;) {
      const { status } = (await (await fetch(session, { headers })).json()) as { status: string }
      if (status === 'working') break
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
    const begun = performance.now()
    await (await fetch(`${session}/stop`, { method: 'POST', headers })).arrayBuffer()
    acknowledged = Math.max(acknowledged, performance.now() - begun)
    for (;;) {
      const { isHeld } = (await (await fetch(session, { headers })).json()) as { isHeld?: boolean }
      if (!isHeld) break
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
    ended = Math.max(ended, performance.now() - begun)
  }
  return { acknowledged, ended }
}
