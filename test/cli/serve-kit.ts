import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, vi } from 'vitest'
import type { Desk, Running } from './cli-kit.ts'

export interface Answered {
  readonly status: number
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every form
  readonly body: any
}

/** `libero serve` as a process of its own. */
export interface Serving extends Running {
  readonly url: string
  /** Sends a request with the token. With a body it is a POST. */
  send(path: string, body?: object, more?: RequestInit): Promise<Answered>
  /** Waits until a session has nothing to do, and resolves with it. */
  untilOver(sessionId: string): Promise<Answered['body']>
  /** The entries of a session. */
  entries(sessionId: string): Promise<Answered['body'][]>
}

/** Starts `libero serve`, or `libero web`, on any port, and waits until it answers. */
export async function startServing(
  desk: Desk,
  flags: readonly string[] = [],
  command: 'serve' | 'web' = 'serve',
): Promise<Serving> {
  const running = desk.start([command, '--port', '0', ...(command === 'web' ? ['--no-open'] : []), ...flags])
  await running.until(/^(?:listening on|open) http:\S+\n/)
  const [, url = ''] = /^(?:listening on|open) (http:\/\/[^/\s]+)/.exec(running.said.out)!
  const token = readFileSync(join(desk.home, 'server-token'), 'utf8').trim()

  async function send(path: string, body?: object, more: RequestInit = {}): Promise<Answered> {
    const headers = { authorization: `Bearer ${token}`, ...(body && { 'content-type': 'application/json' }) }
    const response = await fetch(url + path, {
      ...(body && { method: 'POST', body: JSON.stringify(body) }),
      ...more,
      headers: { ...headers, ...(more.headers as Record<string, string>) },
    })
    const text = await response.text()
    return { status: response.status, body: text.startsWith('{') ? JSON.parse(text) : text }
  }

  return {
    ...running,
    url,
    send,
    untilOver: (id) =>
      vi.waitFor(
        async () => {
          const { body } = await send(`/v1/sessions/${id}`)
          // A session whose run has not begun is idle too, with mail or held.
          const { status, attention, isHeld } = body
          expect([isHeld, status === 'idle' ? attention : undefined]).toEqual([undefined, undefined])
          expect(['idle', 'failed', 'waiting']).toContain(status)
          return body
        },
        { timeout: 25_000, interval: 20 },
      ),
    entries: async (id) => (await send(`/v1/sessions/${id}/entries?limit=1000`)).body.entries,
  }
}
