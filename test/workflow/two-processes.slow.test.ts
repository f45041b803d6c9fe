import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, vi } from 'vitest'
import { createSqliteStore } from '../../src/sessions/sqlite-store.ts'
import { scripted, texts } from '../../src/testing/scripted.ts'
import { createWorkflow, type Workflow } from '../../src/workflow/workflow.ts'
import { testInTurns } from '../soak.ts'
import { temporary } from '../temporary.ts'

const test = testInTurns(2)

const id = 'agent-x'

test('an agent at work in another process is stopped by cancelAgent, closed by closeAgent, and that process notices both', async () => {
  const { workflow, child, lines } = await atWork()
  await workflow.cancelAgent(id)
  expect((await workflow.getStatus(id)).state).toBe('canceled')
  await vi.waitFor(() => expect(lines).toContain('ended canceled'), waitLimits)

  await workflow.closeAgent(id)
  child.stdin!.write('Hello?')
  await vi.waitFor(() => expect(lines.at(-1)).toBe(`refused agent "${id}" is closed; create another one`), waitLimits)
  expect(lines.filter((line) => line.startsWith('error'))).toEqual([])
}, 30_000)

test('an agent at work in another process is closed during its work', async () => {
  const { workflow, lines } = await atWork()
  await workflow.closeAgent(id)
  expect(await workflow.getAgent(id)).toMatchObject({ closed: true })
  await vi.waitFor(() => expect(lines).toContain('ended canceled'), waitLimits)
  expect(lines.filter((line) => line.startsWith('error'))).toEqual([])
}, 30_000)

test('after a process was killed, its agent can be cancelled at once, and no process continues it', async () => {
  const { workflow, child, requests } = await atWork()
  child.kill('SIGKILL')
  await workflow.cancelAgent(id)
  expect((await workflow.getStatus(id)).state).toBe('canceled')
  await workflow.start()
  expect((await workflow.getStatus(id)).state).toBe('canceled')
  expect((await workflow.sendMsgToAgent(id, 'Still there?')).message?.content).toBe('Yes.')
  expect(requests()).toEqual([['user: Long work', 'user: Still there?']])
}, 30_000)

test('a process that is frozen gets a stop message, and has stopped when it continues', async () => {
  const { workflow, child, lines } = await atWork()
  child.kill('SIGSTOP')
  const cancelling = workflow.cancelAgent(id)
  await new Promise((resolve) => setTimeout(resolve, 300))
  expect((await workflow.getStatus(id)).state).toBe('working')
  child.kill('SIGCONT')
  await cancelling
  expect((await workflow.getStatus(id)).state).toBe('canceled')
  await vi.waitFor(() => expect(lines).toContain('ended canceled'), waitLimits)
}, 30_000)

const waitLimits = { timeout: 15_000, interval: 20 }
const program = fileURLToPath(new URL('fixtures/working-child.ts', import.meta.url))

interface Scene {
  readonly workflow: Workflow
  readonly child: ChildProcess
  readonly lines: string[]
  readonly requests: () => readonly (readonly string[])[]
}

/** A workflow here, and a process over the same file whose model is thinking about an agent. */
async function atWork(): Promise<Scene> {
  const path = join(await temporary('two-processes-'), 'sessions.db')
  const flags = ['--conditions=libero-source', '--no-warnings']
  const child = spawn(process.execPath, [...flags, program, path, id], { stdio: ['pipe', 'pipe', 'inherit'] })
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()))
  const lines: string[] = []
  createInterface(child.stdout).on('line', (line) => void lines.push(line))
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await ended
  })
  await vi.waitFor(() => expect(lines).toContain('asked'), waitLimits)

  const provider = scripted('Yes.')
  const store = createSqliteStore({ path })
  const workflow = createWorkflow({ store, provider, definitions: [{ id: 'helper' }] })
  onTestFinished(async () => {
    await workflow.close()
    await store.close()
  })
  return { workflow, child, lines, requests: () => provider.requests.map(({ messages }) => texts(messages)) }
}
