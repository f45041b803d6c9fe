import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect } from 'vitest'
import type { Json } from '../../test/acp/acp-kit.ts'
import { type ClientWorld, clientWorld } from '../../test/acp/client-world.ts'
import { testInTurns } from '../../test/soak.ts'
import type { ExecutionContext } from '../core/execution.ts'
import { createProcessContext } from '../execution/process.ts'
import { executionContract, memoryExecution } from '../testing/index.ts'
import { clientExecution } from './client-execution.ts'

const test = testInTurns(2)

const folders: string[] = []
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})

function base(): ExecutionContext {
  const cwd = realpathSync(mkdtempSync(join(tmpdir(), 'libero-client-')))
  folders.push(cwd)
  return createProcessContext({ cwd, sandbox: 'off' })
}

const call = { runId: 'r', callId: 'c' }

/** All that a client offers; commands are those of calls, so that they run in its terminals. */
function overClient({ handlers }: ClientWorld): ExecutionContext {
  const ask = async (method: string, params: object): Promise<Json> => handlers[method]!(params)
  const context = clientExecution(base(), {
    read: async (path) => (await ask('fs/read_text_file', { path })).content,
    write: async (path, content) => void (await ask('fs/write_text_file', { path, content })),
    pollMs: 20,
    async createTerminal(params) {
      const { terminalId } = await ask('terminal/create', params)
      return {
        id: terminalId,
        currentOutput: () => ask('terminal/output', { terminalId }),
        waitForExit: () => ask('terminal/wait_for_exit', { terminalId }),
        kill: () => ask('terminal/kill', { terminalId }),
        release: () => ask('terminal/release', { terminalId }),
      }
    },
  })
  return { ...context, exec: (handle, command, options) => context.exec(handle, command, { call, ...options }) }
}

/** A terminal has one output, and what a command leaves behind is the client's. */
const beyondTerminals = new Set([
  'a command gives stdout, stderr and exit code apart',
  'a listener gets all output as it comes, in whole characters, and the result has none',
  'output that is no UTF-8 is still output',
  'what a command leaves running does not delay its result',
  'destroy ends what has left the session of its command',
])

describe('AC20 the files and terminals of a client are an execution context', () => {
  const holder: { world?: ClientWorld } = {}
  // The list of cases is made before a test runs; each case makes a context of its own.
  const make = (): ExecutionContext => (holder.world ? overClient(holder.world) : clientExecution(base(), {}))
  test.each(executionContract(make).filter(({ name }) => !beyondTerminals.has(name)))('AC20 $name', async ({ run }) => {
    holder.world = clientWorld()
    await run()
  })
})

test('AC20 a command that must be confined, reads input or belongs to a tool runs here, not in a terminal', async () => {
  const world = clientWorld()
  const context = overClient(world)
  const handle = await context.spawn()
  await context.exec(handle, 'cat', { input: 'x' })
  await context.exec(handle, 'true', { programs: [] })
  const confinement = { profile: 'read-only', reads: [], writes: [], hidden: [], hosts: [], home: 'empty' } as const
  await expect(context.exec(handle, 'true', { confinement })).rejects.toMatchObject({ code: 'ENOSANDBOX' })
  expect(world.commands).toEqual([])
  await context.exec(handle, 'true')
  expect(world.commands).toEqual(['true'])
  await context.destroy(handle)
})

test('AC20 a context that cannot hold files open keeps its own files', async () => {
  const { openFile: _, ...memory } = memoryExecution({ files: { '/a.txt': 'own' } })
  const context = clientExecution(memory, { read: async () => 'the editor’s' })
  expect(await context.readFile(await context.spawn(), '/a.txt')).toBe('own')
})

test('AC20 the client is asked for the file that was judged, however its path is written, and not for one that is read-only', async () => {
  const own = base()
  const handle = await own.spawn()
  const { cwd } = handle
  mkdirSync(join(cwd, 'sub'))
  writeFileSync(join(cwd, 'sub/notes.txt'), 'inside')
  writeFileSync(join(cwd, 'fixed.txt'), 'fixed')
  chmodSync(join(cwd, 'fixed.txt'), 0o444)
  const asked: string[] = []
  const context = clientExecution(own, {
    async read(path) {
      asked.push(`read ${path}`)
      return 'unsaved'
    },
    write: async (path) => void asked.push(`write ${path}`),
  })
  // For a URL a backslash separates folders; for a path it does not.
  const path = `file://${cwd}/sub\\0\\1/../../notes.txt`
  expect(await context.readFile(handle, path)).toBe('unsaved')
  await context.writeFile(handle, path, 'new')
  const judged = join(cwd, 'sub/notes.txt')
  expect([...new Set(asked)]).toEqual([`read ${judged}`, `write ${judged}`])
  if (process.getuid?.() !== 0) await expect(context.writeFile(handle, 'fixed.txt', 'new')).rejects.toThrow('EACCES')
  await own.destroy(handle)
})
