import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openAudit } from '../../src/cli/audit/open-audit.ts'
import { fakeClock } from '../../src/testing/fake-clock.ts'
import { type MockService, startMockService } from '../rpc/mock-service.ts'
import { openDesk } from './cli-kit.ts'
import { type FakeIo, fakeIo, runLibero } from './fake-io.ts'
import { commands, drivers, type Walked, write } from './prompt-commands.ts'

let service: MockService
beforeAll(async () => {
  service = await startMockService()
})
afterAll(() => service.close())

/** A machine whose agents may fetch pages, except from a host that a rule denies. */
function machine(settings: object = {}): FakeIo {
  const io = fakeIo({ env: { PATH: process.env.PATH } })
  const providers = { mock: { baseURL: service.url, model: 'mock-1' } }
  const rules = { mode: 'yolo', deny: ['net:denied.example'] }
  write(io.home, 'config.json', JSON.stringify({ provider: 'mock', providers, ...rules, ...settings }))
  const plugins = [{ id: 'web-fetch', toolId: 'web-fetch' }]
  write(io.home, 'agents/tester.json', JSON.stringify({ id: 'tester', config: { plugins } }))
  return io
}

const again = (io: FakeIo, stdin = new PassThrough()): FakeIo =>
  fakeIo({ home: io.home, cwd: io.cwd, env: io.env, stdin })

/** As what the audit records a command. */
const recordedAs = (command: Walked): string => ({ web: 'serve', terminal: 'run' })[command as string] ?? command

async function audit(io: FakeIo, ...flags: string[]) {
  const { out } = await runLibero(['audit', '--json', ...flags], again(io))
  return out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
}

test('M02 every command that runs an agent records each call, who decided, and the layer of the tool', async () => {
  const io = machine()
  for (const command of commands) {
    const name = command === 'agents' || command === 'schedules' ? 'web-fetch' : 'web_fetch'
    const fetches = (url: string) => [{ call: name, args: { url } }]
    service.play([...fetches('http://127.0.0.1:1/'), ...fetches('http://denied.example/')])
    const stdin = new PassThrough()
    await drivers[command](again(io, stdin), stdin, [])
  }
  const decided = (await audit(io)).filter(({ class: kind }) => kind === 'Approval')
  const seen = decided.map(({ command, origin, decision, details }) => [
    ...[command, origin.layer, decision.verdict, decision.by, decision.rule],
    details.input.url,
  ])
  const layerOf = (command: string) => (command === 'agents' || command === 'schedules' ? 'plugin' : 'host')
  expect(seen).toEqual(
    commands.map(recordedAs).flatMap((command) => [
      [command, layerOf(command), 'allow', 'mode-gate', undefined, 'http://127.0.0.1:1/'],
      [command, layerOf(command), 'deny', 'deny-rule', 'net:denied.example', 'http://denied.example/'],
    ]),
  )
  expect((await runLibero(['audit', 'verify'], again(io))).out).toMatch(/^\d+ records, none changed/)

  const { out: lines } = await runLibero(['audit'], again(io))
  expect(lines.split('\n')[0]).toMatch(/ {2}run {2}\S+ {2}allow {2}by mode-gate {2}web_fetch \(host\) {2}.* {2}failed$/)
  const one = decided.at(-1)
  expect(await audit(io, '--session', one.sessionId, '--decision', 'deny')).toMatchObject([{ callId: one.callId }])
  expect((await audit(io, '--tool', 'web-fetch', '--since', '1h')).map(({ tool }) => tool)).not.toContain('web_fetch')
  const all = await audit(io)
  expect(await audit(io, '--limit', '3')).toEqual(all.slice(-3))
  expect(await runLibero(['audit', '--since', 'soon'], again(io))).toMatchObject({ code: 2 })

  const [file = ''] = readdirSync(join(io.home, 'audit'))
  const path = join(io.home, 'audit', file)
  writeFileSync(path, readFileSync(path, 'utf8').replace('deny-rule', 'allow-rule'))
  const { code, err } = await runLibero(['audit', 'verify'], again(io))
  expect([code, err]).toEqual([1, expect.stringContaining(`${file}: it was changed`)])

  writeFileSync(path, readFileSync(path, 'utf8').replace('"command":"', '"command":"\\u001b[2J'))
  const { out: shown } = await runLibero(['audit'], again(io))
  expect([shown.includes('[2J'), shown.includes('\u001b')]).toEqual([true, false]) // even if the file holds control characters
})

test('M02 a call that cannot be recorded is not run, and the error says why and what to do', async () => {
  const io = machine()
  write(io.home, 'audit', 'no folder')
  service.play([{ call: 'shell', args: { command: 'touch made' } }])
  const { err } = await runLibero(['run', 'go'], again(io, new PassThrough().end()))
  expect(existsSync(join(io.cwd, 'made'))).toBe(false)
  expect(err).toMatch(
    /the audit .* could not be written: .*no call is made that cannot be recorded\. Make that folder writable.*; or turn the audit off: libero config set audit false\n/,
  )
})

test('M02 the list has a line for each call and none for questions; an unreadable file is not reported as changed', async () => {
  const io = machine()
  const sink = openAudit({ io, command: 'run', cwd: io.cwd, view: { failed: expect.unreachable } })
  const call = { sessionId: 'lutora', callId: 'c1', tool: 'edit', origin: { layer: 'host' } } as const
  const decision = { verdict: 'deny', by: 'preview', why: 'it cannot apply' } as const
  await sink.write({ class: 'Approval', event: 'InteractionIssued', details: { kind: 'Approve' } })
  await sink.write({ class: 'Approval', event: 'ApprovalDenied', ...call, decision })
  await sink.write({ class: 'ToolInvocation', event: 'ToolInvocationSubstituted', ...call })
  const { out } = await runLibero(['audit'], again(io))
  expect(out).toMatch(/^\S+ \S+ {2}run {2}lutora {2}deny {2}by preview {2}edit \(host\)\n$/)

  const unreadable = machine()
  mkdirSync(join(unreadable.home, 'audit', 'folder.jsonl'), { recursive: true })
  const { err } = await runLibero(['audit', 'verify'], again(unreadable))
  expect(err).toMatch(/the audit could not be verified: .*cannot be read: EISDIR.*; check who owns that folder/)
})

test('M02 processes that write at once keep complete chains, and without decisions nothing is written', async () => {
  const desk = openDesk()
  desk.write('note.txt', 'x')
  const offline = ['-q', '--provider', 'offline']
  expect((await desk.libero(['hello', ...offline])).code).toBe(0)
  expect(existsSync(join(desk.home, 'audit'))).toBe(false)
  await Promise.all([1, 2].map(() => desk.process(['list the files here', ...offline])))
  expect(readdirSync(join(desk.home, 'audit'))).toHaveLength(2)
  expect((await desk.libero(['audit', 'verify'])).code).toBe(0)
})

test('M02 the audit starts a new file each day, and files older than 90 days are removed', async () => {
  const io = machine()
  const clock = fakeClock(Date.parse('2026-01-01T12:00:00Z'))
  const sink = openAudit({ io, command: 'run', cwd: io.cwd, view: { failed: expect.unreachable }, clock })
  const record = { class: 'Turn', event: 'TurnEnded' }
  await sink.write(record)
  await clock.advance(86_400_000)
  await Promise.all([sink.write(record), sink.write(record)])
  const days = (): string[] => readdirSync(join(io.home, 'audit')).map((name) => name.slice(0, 10))
  expect(days()).toEqual(['2026-01-01', '2026-01-02'])
  await clock.advance(90 * 86_400_000)
  await sink.write(record)
  expect(days()).toEqual(['2026-01-02', '2026-04-02'])
})
