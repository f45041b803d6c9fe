import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { afterAll, beforeAll, expect } from 'vitest'
import type { Config } from '../../src/cli/config/config.ts'
import { type MockService, type Reply, startMockService } from '../rpc/mock-service.ts'
import { testInTurns } from '../soak.ts'
import { type FakeIo, fakeIo } from './fake-io.ts'
import { commands, drivers, type Walked, write } from './prompt-commands.ts'

const test = testInTurns(2)

let service: MockService
beforeAll(async () => {
  service = await startMockService()
})
afterAll(() => service.close())

test('every agent of the command line is put together by assemble, so that every command has the same sandbox', () => {
  const files = globSync('src/cli/**/*.ts').filter((path) => !path.includes('.test.'))
  const making = files.filter((path) => /\b(?:createAgent|createWorkflow)\(\{/.test(readFileSync(path, 'utf8')))
  expect(making.sort()).toEqual([
    'src/cli/agents/open-workflow.ts',
    'src/cli/demo/run-demo.ts', // in a folder of its own, with a model that is a script
    'src/cli/rpc/rpc.ts',
    'src/cli/run/open-agent.ts',
    'src/cli/tools/list-tools.ts', // runs nothing
  ])
  const assembling = files.filter((path) => /\bassemble\(/.test(readFileSync(path, 'utf8')))
  expect(making.filter((path) => !assembling.includes(path))).toEqual([
    'src/cli/demo/run-demo.ts',
    'src/cli/tools/list-tools.ts',
  ])
})

/** A call that creates the file `made`, by a tool that each command has. */
function makes(command: Walked): Reply[] {
  if (command === 'agents' || command === 'schedules')
    return [[{ call: 'zx-script', args: { script: 'await $`touch made`' } }]]
  return [[{ call: command === 'rpc' ? 'bash' : 'shell', args: { command: 'touch made' } }]]
}

test.each(commands)('W05 libero %s without a sandbox runs in yolo, and says so first', async (command) => {
  const io = await prompt(command, { sandbox: 'off', mode: 'yolo' })
  expect(io.said.err).toContain('no sandbox: it was switched off; in the mode yolo, commands run without a question')
  expect(existsSync(join(io.cwd, 'made'))).toBe(true)
})

test.each(commands)('W05 libero %s without a sandbox runs nothing unasked in the mode ask', async (command) => {
  const io = await prompt(command, { sandbox: 'off', mode: 'ask' })
  expect(io.said.err).toContain('no sandbox: it was switched off; commands that are allowed run with all your rights')
  expect(existsSync(join(io.cwd, 'made'))).toBe(false)
})

test('W05 the first events of libero run --events, --json and of libero rpc say that there is no sandbox', async () => {
  const wires: [Walked, string[], string][] = [
    ['run', ['--events'], 'run_started'],
    ['run', ['--json'], 'user_message'],
    ['rpc', [], 'user_message'],
  ]
  for (const [command, flags, type] of wires) {
    const { said } = await prompt(command, { sandbox: 'off', mode: 'yolo' }, flags)
    const line = said.out.split('\n').find((text) => text.includes(`"type":"${type}"`))
    expect(line, `${command} ${flags}`).toContain('"unconfined":"no sandbox: it was switched off; ')
  }
})

/** Tells an agent to create the file `made`, with these settings. */
async function prompt(command: Walked, config: Config, flags: readonly string[] = []): Promise<FakeIo> {
  const stdin = new PassThrough()
  const io = fakeIo({ stdin, env: { PATH: process.env.PATH } })
  const providers = { mock: { baseURL: service.url, model: 'mock-1' } }
  write(io.home, 'config.json', JSON.stringify({ provider: 'mock', providers, ...config }))
  // Without its approval rule, zx-script is asked about even in yolo.
  const approval = config.mode === 'yolo' ? { approval: { 'zx-script': { mode: 'auto' } } } : {}
  write(io.home, 'agents/tester.json', JSON.stringify({ id: 'tester', config: { plugins: [plugin] }, ...approval }))
  service.play(...makes(command))
  await drivers[command](io, stdin, flags)
  return io
}

const plugin = { id: 'zx', toolId: 'zx-script' }
