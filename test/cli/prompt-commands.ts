import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { PassThrough } from 'node:stream'
import { expect, vi } from 'vitest'
import type { AgentCommand } from '../../src/cli/assembly/assemble.ts'
import { closeTelemetry } from '../../src/cli/assembly/telemetry.ts'
import { createCliHost } from '../../src/cli/chat/cli-host.ts'
import type { Command } from '../../src/cli/command.ts'
import { type RunValues, command as runCommand } from '../../src/cli/commands/run.ts'
import { libero } from '../../src/cli/libero.ts'
import { parse } from '../../src/cli/parse.ts'
import { openStore, sessionsPath } from '../../src/cli/sessions/open-store.ts'
import type { SessionSummary } from '../../src/core/store.ts'
import { createScheduleBook } from '../../src/workflow/schedules/schedule-book.ts'
import { type FakeIo, fakeIo, runLibero } from './fake-io.ts'

/** Writes a file of the user. */
export function write(folder: string, path: string, text: string): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true, mode: 0o700 })
  writeFileSync(join(folder, path), text, { mode: 0o600 })
}

type Driver = (io: FakeIo, stdin: PassThrough, flags: readonly string[]) => Promise<unknown>

/** The commands that run agents; the page has the server of `serve`, and the interactive terminal is `run` without a task. */
export type Walked = AgentCommand | 'web' | 'terminal'

/** Each tells an agent "go" by one command, in this process, and waits for its end. Agents are made of the definition `tester`. */
export const drivers: Record<Walked, Driver> = {
  async run(io, stdin, flags) {
    stdin.end()
    await libero(['run', 'go', ...flags], io)
  },
  async rpc(io, stdin, flags) {
    stdin.end('{"id":"1","type":"prompt","message":"go"}\n')
    await libero(['rpc', ...flags], io)
  },
  async acp(io, stdin, flags) {
    const serving = libero(['acp', ...flags], io)
    const send = (message: object): void => void stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
    // biome-ignore lint/suspicious/noExplicitAny: messages of any kind
    const said = (): any[] => io.said.out.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line)]))
    const answerTo = async (id: number) => {
      const answered = new Set<number>()
      return vi.waitFor(() => {
        for (const { id: asked, method } of said()) {
          if (method !== 'session/request_permission' || answered.has(asked)) continue
          answered.add(asked)
          send({ id: asked, result: { outcome: { outcome: 'cancelled' } } })
        }
        const answer = said().find((message) => message.id === id && message.method === undefined)
        expect(answer).toBeDefined()
        return answer
      }, waiting)
    }
    send({ id: 1, method: 'initialize', params: { protocolVersion: 1, clientCapabilities: {} } })
    send({ id: 2, method: 'session/new', params: { cwd: io.cwd, mcpServers: [] } })
    const opened = await Promise.race([serving, answerTo(2)])
    const { sessionId } = (typeof opened === 'object' && opened.result) || {}
    const prompt = [{ type: 'text', text: 'go' }]
    if (sessionId !== undefined) send({ id: 3, method: 'session/prompt', params: { sessionId, prompt } })
    if (sessionId !== undefined) await answerTo(3)
    stdin.end()
    await serving
  },
  async 'mcp-serve'(io, stdin, flags) {
    const serving = libero(['mcp-serve', '--agent-only', ...flags], io)
    const send = (message: object): void => void stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
    const client = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } }
    send({ id: 1, method: 'initialize', params: client })
    send({ method: 'notifications/initialized' })
    send({ id: 2, method: 'tools/call', params: { name: 'run_agent', arguments: { prompt: 'go' } } })
    await Promise.race([serving, vi.waitFor(() => expect(io.said.out).toContain('"id":2'), waiting)])
    stdin.end()
    await serving
  },
  serve: (io, stdin, flags) => atServer(['serve', ...flags], io, stdin),
  web: (io, stdin, flags) => atServer(['web', '--no-open', ...flags], io, stdin),
  async terminal(io, stdin, flags) {
    stdin.end()
    const { values } = parse(flags, runCommand as Command)
    const tell = ({ text }: { text: string }): void => io.err(text)
    const closeAll = { present: () => Promise.reject(new DOMException('closed', 'AbortError')) }
    try {
      const host = await createCliHost(values as RunValues, { io, cwd: io.cwd })
      const opened = await host.openAgent({ settings: {}, interactor: closeAll, notify: tell })
      for (const text of [...(opened.notices ?? []), opened.warning ?? '']) tell({ text })
      await opened.agent.run({ prompt: 'go' }).catch((error: Error) => tell({ text: error.message }))
      await opened.close()
      await host.close()
    } catch (error) {
      tell({ text: (error as Error).message })
    }
    await closeTelemetry(io)
  },
  async agents(io, stdin, flags) {
    stdin.end()
    await libero(['agents', 'new', 'tester', 'go', ...flags], io)
  },
  async schedules(io, stdin, flags) {
    stdin.end()
    const made = fakeIo({ home: io.home, cwd: io.cwd })
    const { out } = await runLibero(['agents', 'new', 'tester'], made)
    const agentId = out.trim()
    if (agentId !== '') await dueAtOnce(agentId, io)
    const waking = libero(['schedules', 'run', ...flags], io)
    const isOver = new RegExp(`${agentId}: (?:done|failed|waits)|needs an answer`)
    await Promise.race([waking, vi.waitFor(() => expect(io.said.err).toMatch(isOver), waiting)])
    io.signal('SIGINT')
    await waking
  },
}

/** Every command that runs an agent; the compiler finds one without a driver. */
export const commands = Object.keys(drivers) as Walked[]

async function atServer(words: readonly string[], io: FakeIo, stdin: PassThrough): Promise<void> {
  stdin.end()
  io.env.LIBERO_SERVER_TOKEN = serverToken
  const serving = libero([...words, '--port', '0'], io)
  const isListening = vi.waitFor(() => expect(io.said.out).toMatch(/^(?:listening on|open) \S+\n/), waiting)
  if ((await Promise.race([serving, isListening.then(() => 'listening')])) !== 'listening') return
  const { origin: url } = new URL(/^(?:listening on|open) (\S+)/.exec(io.said.out)![1]!)
  type Shown = Pick<SessionSummary, 'id' | 'status' | 'attention' | 'isHeld'>
  const ask = async (path: string, init: RequestInit = {}): Promise<Shown> => {
    const headers = { authorization: `Bearer ${serverToken}`, 'content-type': 'application/json' }
    return (await fetch(`${url}/v1/sessions${path}`, { ...init, headers })).json() as never
  }
  const { id } = await ask('', { method: 'POST', body: JSON.stringify({ message: 'go' }) })
  // A session whose run has not begun is idle too, with mail or held.
  const isOver = ({ status, attention, isHeld }: Shown): boolean =>
    !isHeld && (status === 'failed' || status === 'waiting' || (status === 'idle' && attention === undefined))
  await vi.waitFor(async () => expect(isOver(await ask(`/${id}`))).toBe(true), waiting)
  io.signal('SIGINT')
  await serving
}

const serverToken = 'a-token-of-at-least-32-characters-0'

const waiting = { timeout: 20_000, interval: 5 }

async function dueAtOnce(agentId: string, io: FakeIo): Promise<void> {
  const { config } = await (await import('../../src/cli/config/config.ts')).loadConfig({ home: io.home })
  const store = await openStore(sessionsPath(config, io))
  const then = Date.now() - 60_000
  const clock = { now: () => then, timer: () => () => {} }
  const when = { type: 'at' as const, at: new Date(then + 30_000).toISOString() }
  await createScheduleBook({ store, clock }).add({ id: 'due', agentId, message: 'go', when })
  await store.close?.()
}
