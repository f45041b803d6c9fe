import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type MockService, startMockService } from '../rpc/mock-service.ts'
import { openDesk } from './cli-kit.ts'
import { startServing } from './serve-kit.ts'

let service: MockService
beforeAll(async () => {
  service = await startMockService()
})
afterAll(() => service.close())

test('WB17 libero serve gives settings, files, commands, explanations and the way back of its sessions', async () => {
  const desk = openDesk(service.url, undefined, { snapshots: true })
  desk.write('src/main.ts', 'export const one = 1\n')
  mkdirSync(join(desk.home, 'commands'))
  writeFileSync(join(desk.home, 'commands', 'shout.md'), '---\ndescription: Shout\n---\nShout $ARGUMENTS!\n')
  const { send, untilOver, entries } = await startServing(desk, ['--allow', 'write_file'])
  const at = async (path: string) => (await send(`/v1/sessions/one/${path}`)).body
  await send('/v1/sessions', { id: 'one', folder: desk.cwd })

  expect(await at('settings')).toMatchObject({
    chosen: {},
    now: { model: { provider: 'mock' }, mode: 'ask', profile: 'build', folder: desk.cwd },
    profiles: ['build', 'plan'],
  })
  const choose = async (change: object) =>
    (await send('/v1/sessions/one/settings', change, { method: 'PATCH' })).body as Record<string, unknown>
  expect(await choose({ mode: 'plan' })).toMatchObject({ now: { mode: 'plan' } })
  service.play([{ call: 'write_file', args: { path: 'a.txt', content: 'no\n' } }])
  await send('/v1/sessions/one/messages', { content: 'Write.' })
  await untilOver('one')
  expect(existsSync(join(desk.cwd, 'a.txt'))).toBe(false)
  const refused = (await entries('one')).find(({ type }) => type === 'call_result')
  expect(await at(`calls/${refused.callId}/why`)).toMatchObject({
    name: 'write_file',
    decision: { verdict: 'deny', by: 'plan' },
    lines: expect.arrayContaining([expect.stringMatching(/^refused: /)]),
  })

  expect(await choose({ mode: null, thinking: 'low' })).toMatchObject({
    chosen: { thinking: 'low' },
    now: { mode: 'ask' },
  })
  const { head } = (await send('/v1/sessions/one')).body
  service.play([{ call: 'write_file', args: { path: 'a.txt', content: 'yes\n' } }])
  await send('/v1/sessions/one/messages', { content: 'Write @src/main.ts', files: true })
  await untilOver('one')
  expect(readFileSync(join(desk.cwd, 'a.txt'), 'utf8')).toBe('yes\n')
  expect(JSON.stringify(await entries('one'))).toContain('export const one = 1')
  expect(await at('files')).toEqual({
    from: 'snapshots',
    files: [{ path: 'a.txt', kind: 'added', added: 1, removed: 0 }],
  })
  expect((await at('files/diff?path=a.txt')).diff).toContain('+yes')
  expect(await at(`rollback?to=${head}`)).toMatchObject({ files: { delete: ['a.txt'] } })
  expect((await send('/v1/sessions/one/rollback', { to: head })).body).toMatchObject({ files: { deleted: ['a.txt'] } })
  expect(existsSync(join(desk.cwd, 'a.txt'))).toBe(false)

  expect((await at(`completions?text=${encodeURIComponent('see @mai')}`)).items).toMatchObject([
    { text: '@src/main.ts ' },
  ])
  expect((await at('commands')).commands).toContainEqual(expect.objectContaining({ name: 'shout' }))
  expect((await send('/v1/sessions/one/commands', { line: '/shout hello' })).status).toBe(200)
  await untilOver('one')
  expect(JSON.stringify(await entries('one'))).toContain('Shout hello!')
  expect((await at('context')).total).toBeGreaterThan(0)
  expect((await send('/v1/search?q=shout')).body).toHaveProperty('next')
  expect((await send('/v1/sessions/one/commands', { line: '/compact' })).body.text).toMatch(/now a summary of/)
})
