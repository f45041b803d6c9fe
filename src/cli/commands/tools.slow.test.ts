import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { type FakeIo, fakeIo } from '../../../test/cli/fake-io.ts'
import { trustByDigest } from '../../authority/trust/enter-project.ts'
import { projectDigest } from '../../authority/trust/project-items.ts'
import { createTrustList } from '../../authority/trust/trust-list.ts'
import { codingTools, plan } from '../../presets/index.ts'
import type { ListedTool } from '../tools/list-tools.ts'
import { command } from './tools.ts'

let io: FakeIo
let project: string
beforeEach(async () => {
  io = fakeIo()
  project = join(io.cwd, 'project')
  await mkdir(project)
})

const run = (values = {}): Promise<number> => command.run!({ words: [], values: { cwd: 'project', ...values } }, io)

async function tools(values = {}): Promise<readonly ListedTool[]> {
  io.clear()
  await run({ json: true, ...values })
  return JSON.parse(io.said.out).tools
}

async function put(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true })
  await writeFile(path, text)
}

/** A tool of the AI SDK's kind that leaves a mark when it is loaded. */
const toolText = (): string =>
  `import { appendFileSync } from 'node:fs'
appendFileSync(${JSON.stringify(join(io.cwd, 'loaded'))}, 'x')
export default { description: 'Greets.', inputSchema: { type: 'object', properties: {} }, execute: () => 'hello' }`

const loads = async (): Promise<number> => (await readFile(join(io.cwd, 'loaded'), 'utf8').catch(() => '')).length

const namesOf = (set: object): string[] => Object.values(set).map(({ spec }) => spec.name)

test('every built-in tool is listed with its effects', async () => {
  await run()
  const lines = io.said.out.trim().split('\n')
  expect(lines[0]).toMatch(/^tool +from +state +does$/)
  expect(lines.slice(1).map((line) => line.split(' ')[0])).toEqual(namesOf(codingTools).sort())
  expect(io.said.out).toMatch(/^edit +program +active +reads files, writes files$/m)
  expect(io.said.out).toMatch(/^shell +program +active +runs commands$/m)
  expect(io.said.out).toMatch(/^todoread +program +active +no effects$/m)
})

test('a profile or a preset has its own tools', async () => {
  expect((await tools({ profile: 'plan' })).map(({ name }) => name)).toEqual(namesOf(plan.tools).sort())
  expect((await tools({ preset: 'basic' })).map(({ name }) => name)).not.toContain('grep')
  await put(join(io.home, 'config.json'), JSON.stringify({ profile: 'plan', withoutTools: ['shell'] }))
  const left = (await tools()).map(({ name }) => name)
  expect(left).not.toContain('edit')
  expect(left).not.toContain('shell')
})

test('a tool of the user replaces a built-in one, and both are shown', async () => {
  await put(join(io.home, 'tools/grep.mjs'), toolText())
  await put(join(io.home, 'tools/broken.mjs'), 'export default { kind: "Tool" }')
  const found = await tools()
  expect(found.filter(({ name }) => name === 'grep')).toMatchObject([
    { layer: 'program', state: 'shadowed' },
    { layer: 'global', state: 'active', shadows: ['program'], path: expect.stringContaining('grep.mjs') },
  ])
  expect(found.find(({ name }) => name === 'broken')).toMatchObject({
    layer: 'global',
    state: 'unusable',
    diagnostic: expect.stringContaining('contractVersion'),
  })
})

test('tools of a project that is not trusted are listed, and never opened', async () => {
  await put(join(project, '.libero/tools/greet.mjs'), toolText())
  expect((await tools()).find(({ name }) => name === 'greet')).toMatchObject({
    layer: 'project',
    state: 'pending',
    diagnostic: expect.stringContaining('libero trust'),
  })
  expect(await loads()).toBe(0)
  io.clear()
  await run()
  expect(io.said.err).toContain('is not trusted')
})

test('tools of a trusted project are loaded, until they change', async () => {
  const path = join(project, '.libero/tools/greet.mjs')
  await put(path, toolText())
  await trustByDigest(createTrustList({ folder: io.home }), project, await projectDigest(project))
  const greet = async (): Promise<ListedTool | undefined> => (await tools()).find(({ name }) => name === 'greet')
  expect(await greet()).toMatchObject({ layer: 'project', state: 'active' })
  expect(await loads()).toBe(1)
  await put(path, `${toolText()}\n// another`)
  expect(await greet()).toMatchObject({ layer: 'project', state: 'pending' })
  expect(await loads()).toBe(1)
})

test('control characters in a file name do not reach the terminal', async () => {
  await put(join(project, '.libero/tools/a\u001b[2Jb.mjs'), toolText())
  await run()
  expect(io.said.out + io.said.err).not.toContain('\u001b')
})

test('a folder that does not exist is a usage error', async () => {
  await expect(run({ cwd: 'nowhere' })).rejects.toMatchObject({ exitCode: 2 })
})
