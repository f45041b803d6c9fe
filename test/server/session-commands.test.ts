import { writeFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createAuthority } from '../../src/authority/authority.ts'
import { skillCommands } from '../../src/chat/commands/skill.ts'
import { customCommand } from '../../src/chat/custom-commands.ts'
import { createProcessContext } from '../../src/execution/process.ts'
import { compactWith } from '../../src/extensions/compact-now.ts'
import { workInRun } from '../../src/extensions/work-in-run.ts'
import { createAgent } from '../../src/index.ts'
import { loadSession } from '../../src/sessions/session.ts'
import type { scripted } from '../../src/testing/index.ts'
import { temporary } from '../temporary.ts'
import { gated, startServer, until } from './server-kit.ts'

const review = customCommand({
  ...{ name: 'review', from: 'user', description: 'Review', argument: '[file]', mode: 'plan' },
  text: 'Review $1 well.',
})

/** A server whose sessions work in a folder with some files. */
async function desk(replies: Parameters<typeof scripted> = ['Done.'], { isJudged = true } = {}) {
  const folder = await temporary('commands-')
  await mkdir(join(folder, 'src'))
  writeFileSync(join(folder, 'src', 'main.ts'), 'export const one = 1\n')
  writeFileSync(join(folder, '.env'), 'KEY=secret\n')
  const execution = createProcessContext({ cwd: folder })
  const activated: string[][] = []
  const script = gated(...replies)
  script.open()
  const server = await startServer({
    async agentFor({ session, settings, skills }) {
      activated.push([...skills])
      const work = workInRun()
      const authority = createAuthority({ mode: settings.mode ?? 'ask' })
      const agent = createAgent({ provider: script.provider, session, authority, extensions: [work] })
      return {
        ...{ agent, authority, close: () => agent.destroy() },
        activateSkill: async (name) => void activated.push([name]),
        compact: () => compactWith(work, agent),
      }
    },
    workspaceFor: async ({ settings }) => {
      const authority = createAuthority({ mode: 'ask', deny: ['fs.read:.env'], workspace: { root: folder } })
      return {
        ...{ execution, ...(isJudged && { authority }), profiles: ['build'], close: () => authority.close() },
        settings: async () => ({ mode: 'ask' as const, folder, ...settings }),
        models: async () => [{ provider: 'p', model: 'large' }],
        commands: async () => [review, ...skillCommands([{ name: 'draw', description: 'Draws' }])],
      }
    },
  })
  await server.send('POST', '/v1/sessions', { id: 'a' })
  const complete = async (text: string) =>
    (await server.send('GET', `/v1/sessions/a/completions?${new URLSearchParams({ text })}`)).body
  const run = (line: string) => server.send('POST', '/v1/sessions/a/commands', { line })
  const over = () => until(async () => (await server.store.find('a'))?.status === 'idle' && (await sent()).length > 0)
  /** The texts that the model got as messages. */
  const sent = async () =>
    (await server.store.read('a')).flatMap((entry) =>
      entry.type === 'turn' && entry.turn.role === 'user'
        ? [entry.turn.content.map((part) => (part.type === 'text' ? part.text : '')).join('|')]
        : [],
    )
  return { ...server, folder, complete, run, sent, over, activated }
}

test('WB05 files after @ and commands after / are completed, with the arguments of commands', async () => {
  const { complete } = await desk()
  expect(await complete('Look at @main')).toEqual({
    ...{ from: 8, to: 13 },
    items: [{ text: '@src/main.ts ', label: 'src/main.ts' }],
  })
  expect((await complete('/rev')).items).toEqual([
    { text: '/review ', label: '/review [file]', detail: 'Review (yours)' },
  ])
  expect((await complete('/skill:d')).items[0].text).toBe('/skill:draw ')
  expect((await complete('/model l')).items).toEqual([{ text: 'p/large' }])
  expect(await complete('nothing here')).toEqual({ from: 12, to: 12, items: [] })
})

test('WB06 a command of a file becomes a message, once for each key, and may narrow the mode', async () => {
  const { run, sent, send, over } = await desk()
  const { status, body } = await run('/review src/main.ts')
  expect([status, body.text, body.sent]).toEqual([
    200,
    '/review sets mode plan; it stays until you change it',
    { clientKey: expect.any(String), head: expect.any(Number) },
  ])
  await over()
  expect(await sent()).toEqual(['Review src/main.ts well.'])
  expect((await send('GET', '/v1/sessions/a/settings')).body.chosen).toEqual({ mode: 'plan' })
  for (let i = 0; i < 2; i++)
    await send('POST', '/v1/sessions/a/commands', { line: '/review b' }, { 'idempotency-key': 'k' })
  await until(async () => (await sent()).length === 2)
})

test('WB06 a line that begins with a path is a message, as in the terminal; a parked session takes none', async () => {
  const { run, sent, store } = await desk(['Yes.', 'Yes.'])
  for (const line of ['/etc/hosts is wrong', '/tmp is full'])
    expect((await run(line)).body).toMatchObject({ text: '', sent: { clientKey: expect.any(String) } })
  await until(async () => (await sent()).length === 2)
  await until(async () => (await store.find('a'))?.status === 'idle' && !(await store.find('a'))?.isHeld)
  expect((await run('/no-such-thing here')).body.code).toBe('no_command')
  expect((await run('review it')).status).toBe(400)
  const session = await loadSession(store, 'a')
  await session.open()
  await session.log.append({ type: 'parked', reason: 'it crashed three times' })
  await session.release()
  expect((await run('/review b')).body).toMatchObject({ status: 409, code: 'parked' })
  expect((await run('/tmp is full')).body).toMatchObject({ status: 409, code: 'parked' })
  expect(await sent()).toHaveLength(2)
})

test('WB06 a skill is activated for the message behind its name', async () => {
  const { run, sent, over, activated } = await desk()
  expect((await run('/skill:draw')).body.code).toBe('command_failed')
  await run('/skill:draw A house.')
  await over()
  expect(await sent()).toEqual(['A house.'])
  expect(activated).toEqual([['draw']])
})

test('WB06 commands of the terminal that need no screen work, unknown ones are told with the list', async () => {
  const { run, send, store } = await desk()
  await run('/rename Sums')
  await run('/label here')
  await run('/model large')
  await run('/thinking low')
  expect((await store.find('a'))?.title).toBe('Sums')
  expect((await store.read('a')).some((entry) => entry.type === 'label' && entry.text === 'here')).toBe(true)
  expect((await send('GET', '/v1/sessions/a/settings')).body.chosen).toEqual({
    model: { provider: 'p', model: 'large' },
    thinking: 'low',
  })
  const unknown = await run('/fly away')
  expect(unknown.body).toMatchObject({ status: 422, code: 'no_command' })
  expect(unknown.body.commands.map(({ name }: { name: string }) => name)).toContain('review')
  expect((await run('/mode yolo')).body.code).toBe('command_failed')
  expect((await run('no command')).status).toBe(400)
  expect((await run('/compact')).body).toMatchObject({ code: 'command_failed', detail: /nothing to compact/ })
})

test('WB06 /compact replaces the older part of a conversation, and messages that come meanwhile are answered', async () => {
  const { run, send, store } = await desk(['One.', 'Two.', 'Three.', 'A summary.', 'Four.'])
  for (const content of ['a', 'b', 'c'])
    await send('POST', '/v1/sessions/a/messages', { content }, { prefer: 'wait=20' })
  await until(async () => !(await store.find('a'))?.isHeld)
  expect((await run('/compact')).body.text).toMatch(/summary of \d+ characters/)
  expect((await store.read('a')).some(({ type }) => type === 'compaction')).toBe(true)
  const next = await send('POST', '/v1/sessions/a/messages', { content: 'd' }, { prefer: 'wait=20' })
  expect(next.body.run.text).toBe('Four.')
})

test('WB06 a command that is stopped, or whose server is closed, while its agent is opened does nothing', async () => {
  for (const isStopped of [true, false]) {
    const [asked, opening] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    let compacted = 0
    const { send, server } = await startServer({
      async agentFor({ session }) {
        asked.resolve()
        await opening.promise
        const agent = createAgent({ provider: gated('x').provider, session })
        return { agent, close: () => agent.destroy(), compact: async () => `${++compacted}` }
      },
      workspaceFor: async () => ({ async close() {} }),
    })
    await send('POST', '/v1/sessions', { id: 'a' })
    const running = send('POST', '/v1/sessions/a/commands', { line: '/compact' })
    await asked.promise
    const ended = isStopped ? send('POST', '/v1/sessions/a/stop') : server.close()
    if (isStopped) await ended
    opening.resolve()
    await ended
    expect([(await running).status, compacted]).toEqual([isStopped ? 409 : 503, 0])
  }
})

test('WB07 files that a message names are attached as the authority allows, and the rest is told', async () => {
  const { send, sent, over } = await desk()
  const content = 'Compare @src/main.ts, @.env and @none.ts'
  const { body } = await send('POST', '/v1/sessions/a/messages', { content, files: true })
  await over()
  const [message = ''] = await sent()
  expect(message).toContain('The file src/main.ts:\n```\nexport const one = 1')
  expect(message).not.toContain('secret')
  expect(body.notices).toEqual([expect.stringMatching(/^\.env is not attached: reading it/)])
  const plain = await send('POST', '/v1/sessions/a/messages', { content: 'Mail me@src/main.ts @src/main.ts' })
  expect(plain.body.notices).toBeUndefined()
  await until(async () => (await sent()).length === 2)
  expect((await sent())[1]).toBe('Mail me@src/main.ts @src/main.ts')
})

const text = (written: string) => ({ type: 'text', text: written })

test.each([
  ['by name', [text('Explain @notes.md'), text('The file notes.md:\n```\nSee @src/main.ts\n```')]],
  ['in the page', [text('Explain'), text('File notes.md:\n\nSee @src/main.ts')]],
  ['in the page without a word', [text('File notes.md:\n\nSee @src/main.ts')]],
])('WB07 a name with @ inside a file that was attached %s attaches nothing', async (_, content) => {
  const { send, sent, over } = await desk()
  await send('POST', '/v1/sessions/a/messages', { content, files: true })
  await over()
  expect((await sent())[0]).not.toContain('export const one')
})

test('WB07 without an authority that could judge it no file is attached', async () => {
  const { send, run, sent } = await desk(['One.', 'Two.'], { isJudged: false })
  await send('POST', '/v1/sessions/a/messages', { content: 'See @src/main.ts', files: true }, { prefer: 'wait=20' })
  await run('/review @src/main.ts')
  await until(async () => (await sent()).length === 2)
  expect(await sent()).toEqual(['See @src/main.ts', 'Review @src/main.ts well.'])
})
