import { PassThrough } from 'node:stream'
import { expect } from 'vitest'
import { builtCli } from '../built-cli.ts'
import { testInTurns } from '../soak.ts'
import { openDesk } from './cli-kit.ts'
import { fakeIo, runLibero } from './fake-io.ts'
import { drivers, write } from './prompt-commands.ts'
import { startInTerminal } from './pseudo-terminal.ts'

const test = testInTurns(2)

const main = await builtCli()

test.each([
  [['-q', 'review this']],
  [['review this']],
  [['--json', 'review this']],
  [['--events', 'review this']],
  [['--schema', 'person.json', 'review this']],
  [['rpc']],
  [['mcp-serve']],
  [['serve']],
  [['web', '--no-open', '--port', '0']],
  [['agents', 'new', 'assistant', 'hello']],
  [['schedules', 'run']],
])('T07 without a model, a program that calls libero %j gets an error that names libero login', async (args) => {
  const io = fakeIo({ stdin: 'a diff' })
  write(io.cwd, 'person.json', '{"type":"object"}')
  const { code, out, err } = await runLibero(args, io)
  expect([code, out]).toEqual([1, ''])
  expect(err).toMatch(/^libero: no model is set up: .*libero login.*ANTHROPIC_API_KEY.*--provider offline/m)
})

test('T07 without a model, an editor that opens a session over libero acp gets the same error', async () => {
  const stdin = new PassThrough()
  const io = fakeIo({ stdin })
  await drivers.acp(io, stdin, [])
  expect(io.said.out).toMatch(/"id":2,"error":.*no model is set up: .*libero login/)
})

test('T07 a task in a pipe gets the same error, and mcp-serve offers tools without a model', async () => {
  const piped = await runLibero([], fakeIo({ stdin: 'list the files here' }))
  expect([piped.code, piped.out, piped.err]).toEqual([1, '', expect.stringContaining('libero login')])
  const stdin = new PassThrough().end()
  expect(await runLibero(['mcp-serve', '--tools-only'], fakeIo({ stdin }))).toMatchObject({ code: 0 })
})

test('T07 bare libero without a terminal runs the demo, which names libero login as what to try next', async () => {
  const { code, out, err } = await openDesk().process([])
  expect([code, out]).toEqual([0, expect.stringContaining('The tests pass now.')])
  expect(err).toMatch(/Try next\n(?:.*\n)*.*libero login/)
})

test('T07 a person at a terminal is offered the offline model, and told what it is', async () => {
  const desk = openDesk()
  const sit = () =>
    startInTerminal([process.execPath, main, 'hello'], { cwd: desk.cwd, env: desk.env, columns: 100, rows: 40 })
  const agreed = sit()
  const offered = await agreed.until(/▸ n {2}no.*Esc: no/s)
  expect(offered.replace(/[┆\s]+/g, ' ')).toContain('a small set of rules, not a language model')
  agreed.type('y')
  expect([await agreed.ended, agreed.text()]).toEqual([0, expect.stringContaining('for a real one: libero login')])
  const declined = sit()
  await declined.until(/▸ n {2}no.*Esc: no/s)
  declined.type('n')
  expect([await declined.ended, declined.text()]).toEqual([1, expect.stringContaining('no model is set up')])
})
