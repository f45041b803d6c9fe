import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test, vi } from 'vitest'
import { createSqliteStore } from '../../src/sessions/sqlite-store.ts'
import { memoryExecution } from '../../src/testing/memory-execution.ts'
import { scripted } from '../../src/testing/scripted.ts'
import { createWorkflow } from '../../src/workflow/workflow.ts'
import { temporary } from '../temporary.ts'

const waitLimits = { timeout: 25_000, interval: 20 }
const program = fileURLToPath(new URL('agent-worker.ts', import.meta.url))

/** A worker over the file; what it printed is in `lines`. */
function startWorker(...given: readonly string[]): { readonly child: ChildProcess; readonly lines: string[] } {
  const flags = ['--conditions=libero-source', '--no-warnings']
  const child = spawn(process.execPath, [...flags, program, ...given], { stdio: ['pipe', 'pipe', 'inherit'] })
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()))
  const lines: string[] = []
  createInterface(child.stdout!).on('line', (line) => void lines.push(line))
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await ended
  })
  return { child, lines }
}

test('FL60 a worker is killed in the work on an agent: another process finishes it, and one that only records hears it all', async () => {
  const path = join(await temporary('agent-processes-'), 'sessions.db')
  const provider = scripted()
  const front = createWorkflow({
    ...{ store: createSqliteStore({ path }), provider, definitions: [{ id: 'helper' }] },
    ...{ work: 'elsewhere', execution: memoryExecution() },
  })
  onTestFinished(() => front.close())
  const heard: string[] = []
  front.subscribe(undefined, (update) => {
    if (update.type === 'status') heard.push(update.status.state)
    if (update.type === 'message') heard.push(`${update.message.role}: ${update.message.content}`)
  })
  const { id } = await front.createAgent('helper')
  expect((await front.sendMsgToAgent(id, 'Long work')).state).toBe('submitted')

  const first = startWorker(path, 'hangs')
  await vi.waitFor(() => expect(first.lines).toContain('asked'), waitLimits)
  await vi.waitFor(() => expect(heard).toContain('working'), waitLimits)
  first.child.kill('SIGKILL')
  const second = startWorker(path)
  await vi.waitFor(() => expect(heard).toContain('completed'), waitLimits)
  expect(heard.filter((line) => line.includes(':'))).toEqual(['user: Long work', 'assistant: Done.'])
  expect([second.lines, provider.requests]).toEqual([['asked'], []])
}, 60_000)
