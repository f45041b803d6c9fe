import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Command } from '../../src/cli/command.ts'
import { commands } from '../../src/cli/commands.ts'
import { libero } from '../../src/cli/libero.ts'
import { once } from '../../src/core/waiting.ts'
import { type MockService, startMockService } from '../rpc/mock-service.ts'
import { type FakeIo, fakeIo, runLibero } from './fake-io.ts'
import { drivers, write } from './prompt-commands.ts'

/** Every command that can be called: `run`, `agents new`, … */
const leaves = (await Promise.all(commands.map(async (entry) => leavesOf(await entry.load())))).flat()

interface Leaf {
  readonly name: string
  readonly command: Command
}

function leavesOf(command: Command, above = ''): Leaf[] {
  const name = `${above}${command.name}`
  return command.commands?.flatMap((one) => leavesOf(one, `${name} `)) ?? [{ name, command }]
}

const agents = 'run|rpc|mcp-serve|serve|web|acp|agents (?:new|send|answer)|schedules run'
/** It asks the offline model alone, in a folder of its own. */
const alone = ['demo']

let service: MockService
const folder = mkdtempSync(join(tmpdir(), 'libero-commands-'))
const cwd = join(folder, 'project')
mkdirSync(cwd)
beforeAll(async () => {
  service = await startMockService()
})
afterAll(async () => {
  await service.close()
  rmSync(folder, { recursive: true, force: true })
})

/** A home with an agent and a session, and their ids. */
const prepared = once(async () => {
  const home = join(folder, 'home')
  const providers = { mock: { baseURL: service.url, model: 'mock-1' } }
  const tester = { id: 'tester', config: { plugins: [{ id: 'zx', toolId: 'zx-script' }] } }
  write(home, 'config.json', JSON.stringify({ provider: 'mock', providers, sandbox: 'off', mode: 'yolo' }))
  write(home, 'agents/tester.json', JSON.stringify(tester))
  const agent = (await call(home, ['agents', 'new', 'tester'])).said.out.trim()
  await call(home, ['run', 'go'])
  const session = JSON.parse((await call(home, ['sessions', 'list', '--json'])).said.out).sessions[0].id
  return { home, ids: [agent, session] }
})

/** The commands that asked a model. */
const asking = new Set<string>()

async function call(home: string, words: readonly string[]): Promise<FakeIo> {
  const io = fakeIo({ home, cwd, env: { PATH: process.env.PATH } })
  await runLibero(words, io)
  return io
}

test('SB03 the commands that run agents are those that take --sandbox, and all that choose who approves take it', () => {
  // `policy explain` says where a command would run, and runs none.
  const taking = leaves
    .filter(({ name, command: { flags = {} } }) => flags.sandbox && name !== 'policy explain')
    .map(({ name }) => name)
  expect(taking.filter((name) => !new RegExp(`^(?:${agents})$`).test(name))).toEqual([])
  const approving = leaves.filter(({ command: { flags = {} } }) => flags.allow || flags.yolo).map(({ name }) => name)
  expect(approving.filter((name) => !taking.includes(name))).toEqual([])
  for (const driven of Object.keys(drivers).filter((name) => name !== 'terminal'))
    expect(
      taking.some((name) => name.startsWith(driven)),
      driven,
    ).toBe(true)
})

test.each(leaves.filter(({ name }) => !alone.includes(name)))(
  'SB03 libero $name says that there is no sandbox before it asks a model, or asks none',
  async ({ name, command: { words } }) => {
    const { home: original, ids } = await prepared()
    const home = mkdtempSync(join(folder, 'copy-'))
    cpSync(original, home, { recursive: true })
    for (const given of words === undefined ? [[]] : [['tester', 'go'], ...ids.map((id) => [id, 'go'])]) {
      const stdin = new PassThrough()
      const io = fakeIo({ home, cwd, stdin, env: { PATH: process.env.PATH } })
      stdin.end(name === 'rpc' ? '{"id":"1","type":"prompt","message":"go"}\n' : '')
      let saidBefore: string | undefined
      service.play(() => {
        saidBefore = io.said.err
        return [{ say: 'ok' }]
      })
      const goesOn = ['agents watch', 'schedules run', 'serve', 'web'].includes(name)
      const quietly = name === 'web' ? ['--no-open'] : []
      const stop = setInterval(() => goesOn && io.signal('SIGINT'), 500)
      await libero([...name.split(' '), ...given, ...quietly], io).finally(() => clearInterval(stop))
      if (saidBefore === undefined) continue
      asking.add(name)
      expect(saidBefore, given.join(' ')).toContain('no sandbox: it was switched off; in the mode yolo')
    }
  },
)

test('SB03 libero run says it with --quiet too', async () => {
  const { home } = await prepared()
  service.play([{ say: 'ok' }])
  const io = fakeIo({ home, cwd, env: { PATH: process.env.PATH } })
  await libero(['run', '--quiet', 'go'], io)
  expect(io.said).toEqual({
    out: 'ok\n',
    err: expect.stringContaining('no sandbox: it was switched off; in the mode yolo'),
  })
})

test('SB03 the commands that were found to ask a model are more than a few', () => {
  expect([...asking].sort()).toEqual(['agents new', 'agents send', 'rpc', 'run', 'sessions resume'])
})

test('SB02 without a person a command that needs a sandbox halts the run, and the advice is about the sandbox', async () => {
  const { home } = await prepared()
  service.play([{ call: 'shell', args: { command: 'cat *' } }])
  const io = fakeIo({ home, cwd, env: { PATH: process.env.PATH } })
  expect(await libero(['run', '--mode', 'ask', '--allow', 'shell:cat', 'go'], io)).toBe(3)
  expect(io.said.err).toMatch(
    /asked because: allowed by "shell:cat" \(launch\), but there is no sandbox: it was switched off\n/,
  )
  expect(io.said.err).toContain('Without a sandbox no rule allows a command; libero doctor says how to get one.')
})

test('SB02 without a person and a session, a run that halts says so, also with --quiet', async () => {
  const { home } = await prepared()
  service.play([{ call: 'shell', args: { command: 'cat *' } }])
  const io = fakeIo({ home, cwd, env: { PATH: process.env.PATH } })
  expect(await libero(['run', '--mode', 'ask', '--no-session', '--quiet', 'go'], io)).toBe(3)
  expect(io.said.err).toMatch(/A call needs approval, and there was no one to ask, so it was not run\. .*--no-session/)
})

test('SB01 libero audit says where the commands of each allowed call ran', async () => {
  const { home } = await prepared()
  service.play([{ call: 'shell', args: { command: 'true audited' } }])
  const io = fakeIo({ home, cwd, env: { PATH: process.env.PATH } })
  await libero(['run', 'go'], io)
  expect((await call(home, ['audit', '--tool', 'shell'])).said.out).toMatch(
    /true audited {2}outside any sandbox {2}done\n/,
  )
})
