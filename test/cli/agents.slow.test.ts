import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { builtCli } from '../built-cli.ts'
import { gate, type MockService, startMockService } from '../rpc/mock-service.ts'
import { testInTurns } from '../soak.ts'
import { type Desk, openDesk } from './cli-kit.ts'
import { type FakeIo, fakeIo, runLibero } from './fake-io.ts'
import { startInTerminal } from './pseudo-terminal.ts'

// Most of them start processes.
const test = testInTurns(4)

const main = await builtCli()
let service: MockService
beforeAll(async () => {
  service = await startMockService()
})
afterAll(() => service.close())
beforeEach(() => service.play())

interface Listed {
  readonly id: string
  readonly parent?: string
}

const offline = ['--provider', 'offline']

/** Creates an agent and returns its id. */
async function make(desk: Desk, ...more: string[]): Promise<string> {
  const { code, out, err } = await desk.libero(['agents', 'new', 'assistant', ...more])
  expect({ code, err }).toEqual({ code: 0, err: '' })
  expect(out).toMatch(/^agent-[a-z]{6}-[a-z]{6}\n$/)
  return out.trim()
}

describe('libero agents', () => {
  test('an agent can be created, sent messages by its name or a part of its id, listed and shown', async () => {
    const desk = openDesk()
    expect((await desk.libero(['agents'])).err).toContain('libero agents new assistant')
    const id = await make(desk, '--name', 'helper')
    const said = await desk.process(['agents', 'send', 'helper', 'hello', ...offline])
    expect(said).toMatchObject({ code: 0, out: expect.stringContaining('Hello. Tell me what to do') })
    expect(said.err).toContain(`${id}, offline`)
    const again = await desk.process(['agents', 'send', id.slice(6, 10), 'hello', ...offline, '--json'])
    expect(JSON.parse(again.out)).toEqual({
      agentId: id,
      status: 'completed',
      answer: expect.stringContaining('Hello.'),
      pending: [],
    })
    expect((await desk.libero(['agents'])).out).toMatch(new RegExp(`^${id}  assistant  just now  idle  helper$`, 'm'))
    const shown = JSON.parse((await desk.libero(['agents', 'show', 'helper', '--json'])).out)
    expect(shown.messages.map(({ role }: { role: string }) => role)).toEqual(['user', 'assistant', 'user', 'assistant'])
    expect((await desk.libero(['agents', 'show', 'helper'])).out).toMatch(/You, .*\nhello\n\n.*Agent, /)
  })

  test('piped input becomes the message, and an empty message is an error', async () => {
    const desk = openDesk()
    const id = await make(desk)
    expect((await desk.libero(['agents', 'send', id, ...offline], { stdin: 'hello\n' })).out).toContain('Hello.')
    expect(await desk.libero(['agents', 'send', id, ...offline])).toMatchObject({ code: 2, out: '' })
    expect((await desk.libero(['agents', 'send', 'unknown', 'hi', ...offline])).err).toContain('There is no agent')
  })

  test('D032 a question without a terminal ends with 3, and its answer is the result of the same call', async () => {
    const desk = openDesk()
    const id = await make(desk)
    const asked = await desk.process(['agents', 'send', id, 'ask me: tea or coffee?', ...offline])
    expect(asked.code).toBe(3)
    expect(asked.err).toMatch(
      /The agent asks: tea or coffee\?\n {4}- tea\n {4}- coffee\nTo answer: libero agents answer/,
    )
    const [listed] = JSON.parse((await desk.process(['agents', '--json'])).out).agents
    expect(listed).toMatchObject({ status: 'waiting', waiting: [{ kind: 'question', tool: 'ask-question' }] })
    expect((await desk.process(['agents'])).out).toContain('asks: tea or coffee?')
    expect(await desk.process(['agents', 'answer', id, '--allow', ...offline])).toMatchObject({ code: 2 })
    const answered = await desk.process(['agents', 'answer', id, listed.waiting[0].callId, 'coffee', ...offline])
    expect(answered).toMatchObject({ code: 0, out: 'Thank you. The user chose: coffee\n' })
    expect((await desk.process(['agents', 'answer', id, 'tea', ...offline])).err).toContain('waits for nothing')
  })

  test('an unknown call id is refused, and an answer of several words must be quoted', async () => {
    const desk = openDesk()
    const id = await make(desk)
    await desk.libero(['agents', 'send', id, 'ask me: tea or coffee?', ...offline])
    const answer = (...words: string[]) => desk.libero(['agents', 'answer', id, ...words, ...offline])
    const [{ callId }] = JSON.parse((await answer('--json')).out)
    const there = `waits; waiting: ${callId} (ask-question)`
    const hint = 'Put an answer of several words in quotes\nSee: libero agents answer --help\n'
    for (const words of [
      ['wrongcall', 'tea'],
      ['wrongcall', 'green', 'tea'],
    ])
      expect(await answer(...words)).toMatchObject({
        code: 2,
        out: '',
        err: expect.stringContaining(`libero: no call "wrongcall" ${there}. ${hint}`),
      })
    expect(await answer(callId, 'green', 'tea')).toMatchObject({ code: 2, err: expect.stringContaining(hint) })
    expect(await answer('wrongcall', '--allow')).toMatchObject({ code: 2, err: expect.stringContaining(there) })
    expect(await answer(callId, 'green tea')).toMatchObject({ code: 0, out: expect.stringContaining('green tea') })
  })

  test('a call that needs approval without a terminal ends with 3 and is not run; it can be denied with a note', async () => {
    const desk = openDesk()
    const id = await make(desk)
    const asked = await desk.libero(['agents', 'send', id, 'fetch http://127.0.0.1:1/x', ...offline, '--json'])
    expect(asked.code).toBe(3)
    const pending = [{ kind: 'permission', tool: 'web-fetch', input: { url: 'http://127.0.0.1:1/x' } }]
    expect(JSON.parse(asked.out)).toMatchObject({ status: 'input-required', pending })
    expect((await desk.libero(['agents', 'answer', id])).out).toContain('needs an approval: web-fetch')
    for (const [flags, why] of [
      [['--allow', '--edits', '1'], 'the edits of web-fetch cannot be decided about one by one; leave out --edits'],
      [['--deny', '--edits', '1'], '--edits needs --allow'],
    ] as const)
      expect(await desk.libero(['agents', 'answer', id, ...flags, ...offline])).toMatchObject({
        ...{ code: 2, err: expect.stringContaining(why) },
      })
    const denied = await desk.libero(['agents', 'answer', id, '--deny', '--note', 'not today', ...offline])
    expect(denied).toMatchObject({ code: 0, out: expect.stringContaining('denied by user: not today') })
  })

  test('an allowed call is run; --mode and rules apply as for a run', async () => {
    const desk = openDesk()
    const id = await make(desk)
    const fetching = ['agents', 'send', id, 'fetch http://127.0.0.1:1/x', ...offline]
    expect(await desk.libero(fetching)).toMatchObject({ code: 3 })
    const allowed = await desk.libero(['agents', 'answer', id, '--allow', ...offline])
    expect(allowed).toMatchObject({ code: 0, out: expect.stringContaining('I could not fetch') })
    const denied = await desk.libero([...fetching, '--deny', 'net'])
    expect(denied).toMatchObject({ code: 0, out: expect.stringContaining('I was not allowed to fetch') })
  })

  test('a call that is allowed for the project, as the question offers it, is not asked about again', async () => {
    const desk = openDesk()
    const id = await make(desk)
    const fetching = ['agents', 'send', id, 'fetch http://127.0.0.1:1/x', ...offline]
    const answer = (...words: string[]) => desk.libero(['agents', 'answer', id, ...words, ...offline])
    expect(await desk.libero(fetching)).toMatchObject({ code: 3 })
    expect((await desk.libero(['agents', 'answer', id])).out).toMatch(/^ {4}--allow --scope project: always: .+$/m)
    expect(await answer('--deny', '--scope', 'project')).toMatchObject({
      code: 2,
      err: expect.stringContaining('--scope needs --allow'),
    })
    expect(await answer('--allow')).toMatchObject({ code: 0 })
    expect(await desk.libero(fetching)).toMatchObject({ code: 3 }) // once is once
    expect(await answer('--allow', '--scope', 'project')).toMatchObject({ code: 0 })
    expect(await desk.libero(fetching)).toMatchObject({ code: 0, out: expect.stringContaining('I could not fetch') })
  })

  test('Ctrl-C stops a running agent with 130, and it accepts messages again', async () => {
    const desk = openDesk(service.url)
    const id = await make(desk)
    const { working, closed } = await atWork(desk, id)
    working.child.kill('SIGINT')
    const err = expect.stringContaining(`The agent was stopped; continue with: libero agents send ${id} "…"`)
    expect(await working.ended).toMatchObject({ code: 130, err })
    closed.open()
    expect((await desk.libero(['agents'])).out).toContain('idle')
    service.play([{ say: 'Here I am.' }])
    expect(await desk.libero(['agents', 'send', id, 'still there?'])).toMatchObject({ code: 0, out: 'Here I am.\n' })
  })

  test('a message to an agent that another process runs is delivered there', async () => {
    const desk = openDesk(service.url)
    const id = await make(desk)
    const closed = gate()
    service.play([{ say: 'First. ' }, { hang: closed }], [{ say: 'Second.' }])
    const working = desk.start(['agents', 'send', id, 'think'])
    working.child.stdin.end()
    await closed.reached
    const other = await desk.libero(['agents', 'send', id, 'and mind the gap'])
    expect(other).toMatchObject({ code: 0, out: '', err: expect.stringContaining(`libero agents watch ${id}`) })
    closed.open()
    expect(await working.ended).toMatchObject({ code: 0, out: expect.stringContaining('Second.') })
    expect(JSON.stringify(service.requests.at(-1).messages)).toContain('mind the gap')
  })

  test('an agent that reaches the limits of the settings ends with 4', async () => {
    const desk = openDesk(service.url)
    await desk.libero(['config', 'set', 'maxTurns', '2'])
    const id = await make(desk)
    const look = { call: 'list-schedules', args: {} }
    service.play([look], [look], [{ say: 'too late' }])
    const { code, err } = await desk.libero(['agents', 'send', id, 'look'])
    expect({ code, requests: service.requests.length }).toMatchObject({ code: 4 })
    expect(err).toContain('Stopped: it took 2 rounds')
  })

  test('sub-agents are listed only with --all, under their parent', async () => {
    const desk = openDesk(service.url)
    const id = await make(desk)
    service.play([{ call: 'spawn-agent', args: { task: 'count' } }], [{ say: 'three' }], [{ say: 'It is three.' }])
    const { code, out } = await desk.libero(['agents', 'send', id, 'count for me', '--yolo'])
    expect({ code, out }).toEqual({ code: 0, out: 'It is three.\n' })
    const ids = async (...more: string[]) =>
      JSON.parse((await desk.libero(['agents', '--json', ...more])).out).agents.map(
        ({ id: one, parent }: Listed) => parent ?? one,
      )
    expect(await ids()).toEqual([id])
    expect(await ids('--all')).toEqual([id, id])
  })

  test('a sub-agent can be shown and watched', async () => {
    const desk = openDesk(service.url)
    const id = await make(desk)
    const spawn = { call: 'spawn-agent', args: { task: 'count the stars' } }
    service.play([spawn], [{ say: 'three' }], [{ say: 'It is three.' }])
    await desk.libero(['agents', 'send', id, 'count for me', '--yolo'])
    const all: Listed[] = JSON.parse((await desk.libero(['agents', '--all', '--json'])).out).agents
    const sub = all.find(({ parent }) => parent === id)!
    expect(sub).toMatchObject({ status: 'idle', title: 'count the stars' })
    const { code, out } = await desk.libero(['agents', 'show', sub.id])
    expect(code).toBe(0)
    expect(out).toMatch(new RegExp(`sub-agent of: +${id}\\n.*status: +idle\\n.*count the stars.*three`, 's'))
    const watching = desk.start(['agents', 'watch', sub.id])
    await watching.until('three')
    watching.child.kill('SIGINT')
    expect((await watching.ended).code).toBe(0)
  })

  test('a killed sub-agent is not shown as done, and sub-agents accept no messages', async () => {
    const desk = openDesk(service.url)
    const id = await make(desk)
    const closed = gate()
    const spawn = { call: 'spawn-agent', args: { task: 'count the stars' } }
    service.play([spawn], [{ say: 'One. ' }, { hang: closed }])
    const working = desk.start(['agents', 'send', id, 'count for me', '--yolo'])
    working.child.stdin.end()
    await closed.reached
    const subAgent = async (): Promise<Listed> =>
      JSON.parse((await desk.libero(['agents', '--all', '--json'])).out).agents.find(
        ({ parent }: Listed) => parent === id,
      )
    expect(await subAgent()).toMatchObject({ status: 'working' })
    working.child.kill('SIGKILL')
    await working.ended
    closed.open()
    const sub = await subAgent()
    expect(sub).toMatchObject({ status: 'interrupted' })
    for (const words of [
      ['send', sub.id, 'hi'],
      ['answer', sub.id, 'tea'],
      ['answer', sub.id],
      ['close', sub.id],
    ])
      expect(await desk.libero(['agents', ...words])).toMatchObject({
        code: 1,
        err: expect.stringContaining(`is a sub-agent of ${id}`),
      })
  })

  test('watch ends when its output is closed', async () => {
    const desk = openDesk()
    const id = await make(desk)
    const watching = desk.start(['agents', 'watch', id])
    watching.child.stdout.destroy()
    await desk.libero(['agents', 'send', id, 'hello', ...offline])
    expect((await watching.ended).code).toBe(141)
  })

  test('a failing service is reported, with exit code 1', async () => {
    const desk = openDesk('http://127.0.0.1:1/v1')
    const id = await make(desk)
    const { code, err, out } = await desk.libero(['agents', 'send', id, 'hello'], { env: { LIBERO_DEBUG: '' } })
    expect({ code, out }).toEqual({ code: 1, out: '' })
    expect(err).toContain('libero: the agent failed: ')
  })

  test('at a terminal, questions and approvals are asked there', async () => {
    const desk = openDesk()
    const id = await make(desk)
    const at = (...words: string[]) =>
      startInTerminal([process.execPath, main, 'agents', ...words, ...offline], { cwd: desk.cwd, env: desk.env })
    const asked = at('send', id, 'ask me: tea or coffee?')
    await asked.until(/▸ 1\. tea.*Esc: no answer/s)
    await new Promise((resolve) => setTimeout(resolve, 400)) // keys are ignored until a person can have read it
    asked.type('2')
    asked.type('\r')
    await asked.see('Thank you. The user chose: coffee')
    expect(await asked.ended).toBe(0)
    const wanting = at('send', id, 'fetch http://127.0.0.1:1/x')
    await wanting.until(/Allow web-fetch\?.*▸ n {2}no/s)
    await new Promise((resolve) => setTimeout(resolve, 400))
    wanting.type('n')
    await wanting.see('I was not allowed to fetch')
    expect(await wanting.ended).toBe(0)
    expect(wanting.text()).not.toContain('ApprovalDenied')
  })

  test('Ctrl-C at a question ends with 130 and leaves it open for a later answer', async () => {
    const desk = openDesk()
    const id = await make(desk)
    const argv = ['agents', 'send', id, 'ask me: tea or coffee?', ...offline]
    const asked = startInTerminal([process.execPath, main, ...argv], { cwd: desk.cwd, env: desk.env })
    await asked.until(/▸ 1\. tea.*Esc: no answer/s)
    await new Promise((resolve) => setTimeout(resolve, 400)) // keys are ignored until a person can have read it
    asked.type('\x03')
    expect(await asked.ended).toBe(130)
    expect(asked.text()).not.toContain('Stopping')
    expect(asked.text()).toContain(`To answer: libero agents answer ${id}`)
    expect((await desk.libero(['agents'])).out).toContain('asks: tea or coffee?')
    const answered = await desk.libero(['agents', 'answer', id, 'tea', ...offline])
    expect(answered).toMatchObject({ code: 0, out: 'Thank you. The user chose: tea\n' })
  })

  test('watch shows what an agent does in another process', async () => {
    const desk = openDesk()
    const id = await make(desk)
    const watching = desk.start(['agents', 'watch', id, '--json'])
    await desk.libero(['agents', 'send', id, 'hello', ...offline])
    await watching.until('Hello. Tell me')
    watching.child.kill('SIGINT')
    const { code, out } = await watching.ended
    expect(code).toBe(0)
    const roles = out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).role)
    expect([...new Set(roles)]).toEqual(['user', 'assistant'])
  })

  test('a closed agent accepts no messages, and a deleted one is gone', async () => {
    const desk = openDesk()
    const id = await make(desk, '--name', 'helper')
    await desk.libero(['agents', 'close', 'helper'])
    expect((await desk.libero(['agents', 'send', id, 'hi', ...offline])).err).toContain('is closed')
    expect((await desk.libero(['agents'])).out).toBe('')
    expect((await desk.libero(['agents', '--all'])).out).toContain('closed')
    expect(await desk.libero(['agents', 'delete', id])).toMatchObject({ code: 2 })
    expect((await desk.libero(['agents', 'delete', 'helper', '--yes'])).err).toBe(`Deleted ${id}\n`)
    expect((await desk.libero(['agents', '--all'])).out).toBe('')
  })
})

describe('rewind, cancel and delete', () => {
  /** Runs `libero agents …` in this process, in the folder of the desk. */
  function here({ home, cwd, env }: Desk = openDesk()) {
    return (...args: string[]) => runLibero(['agents', ...args], fakeIo({ home, cwd, env: { PATH: env.PATH } }))
  }

  /** A terminal at which this is typed when asked. */
  function personAt(desk: Desk, typed: string): FakeIo {
    const stdin = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => stdin })
    const io = fakeIo({ home: desk.home, cwd: desk.cwd, stdin })
    Object.assign(io.stderr, { isTTY: true })
    const { write } = io.stderr
    Object.assign(io.stderr, {
      write(text: string) {
        if (text.includes('[y/N]')) setImmediate(() => stdin.write(typed))
        return write.call(io.stderr, text, 'utf8')
      },
    })
    return io
  }

  test('a message is removed by its name together with later ones, and its text is printed', async () => {
    const agents = here()
    const id = (await agents('new', 'assistant', '-n', 'helper')).out.trim()
    expect((await agents('rewind', 'helper', '--yes')).err).toContain('there is nothing to go back to')
    const first = await agents('send', 'helper', 'hello', ...offline)
    expect(first.err).toMatch(/^1 turn · \d+ in · \d+ out · \$0 · \d/m)
    await agents('send', 'helper', 'hello again', ...offline)
    const { out } = await agents('show', 'helper')
    const [name] = [...out.matchAll(/^You, .* UTC, (\w{6}-\d+)$/gm)].map(([, one]) => one!)
    expect(await agents('rewind', 'helper', name!)).toMatchObject({
      code: 2,
      err: expect.stringContaining('add --yes'),
    })
    const back = await agents('rewind', 'helper', name!, '--yes')
    expect(back).toMatchObject({ code: 0, out: 'hello\n' })
    expect(back.err).toMatch(
      new RegExp(`Undone: the message and the 3 messages after it.*libero agents send ${id} "…"`, 's'),
    )
    expect(JSON.parse((await agents('show', 'helper', '--json')).out).messages).toEqual([])
  })

  test('at a terminal the person is asked first: no and Ctrl-C change nothing, yes does it', async () => {
    const desk = openDesk()
    const agents = here(desk)
    await agents('new', 'assistant', 'hello', '-n', 'helper', ...offline)
    const rewind = (typed: string) => runLibero(['agents', 'rewind', 'helper'], personAt(desk, typed))
    expect(await rewind('\r')).toMatchObject({
      code: 0,
      out: '',
      err: expect.stringContaining('Nothing was undone'),
    })
    expect(await rewind('\x03')).toMatchObject({ code: 130, out: '', err: expect.stringContaining('Nothing was done') })
    const asked = expect.stringMatching(/ {2}hello\n.*Undo this message and the message after it\? \[y\/N\]/s)
    expect(await rewind('y\r')).toMatchObject({ code: 0, out: 'hello\n', err: asked })
  })

  test('cancel denies a pending call, and reports when there is nothing to stop', async () => {
    const agents = here()
    await agents('new', 'assistant', 'ask me: tea or coffee?', '-n', 'asker', ...offline)
    expect(await agents('cancel', 'asker')).toMatchObject({
      code: 0,
      err: expect.stringContaining('and denied what it waited for'),
    })
    expect((await agents('list')).out).toContain('idle')
    expect((await agents('cancel', 'asker')).err).toContain('There was nothing to stop')
    expect(await agents('cancel')).toMatchObject({ code: 2 })
  })

  test('cancel stops an agent that works in another process', async () => {
    const desk = openDesk(service.url)
    const agents = here(desk)
    const id = await make(desk)
    const { working, closed } = await atWork(desk, id)
    expect((await agents('rewind', id, '--yes')).err).toContain(`stop it first: libero agents cancel ${id}`)
    expect(await agents('cancel', id)).toMatchObject({ code: 0, err: expect.stringContaining(`Stopped ${id}`) })
    expect(await working.ended).toMatchObject({ code: 130 })
    closed.open()
  })

  test('an agent that works in another process can be deleted', async () => {
    const desk = openDesk(service.url)
    const agents = here(desk)
    const id = await make(desk)
    const { working, closed } = await atWork(desk, id)
    expect(await agents('delete', id, '--yes')).toMatchObject({ code: 0, err: `Deleted ${id}\n` })
    expect(await working.ended).toMatchObject({ code: 130 })
    closed.open()
    expect((await agents('list', '--all')).out).toBe('')
  })

  test('a call can be allowed only in the folder in which it was requested', async () => {
    const desk = openDesk()
    const agents = here(desk)
    const other = here({ ...desk, cwd: desk.home })
    await agents('new', 'assistant', 'fetch http://127.0.0.1:1/x', '-n', 'helper', ...offline)
    expect((await agents('answer', 'helper')).out).toContain(`    runs in: ${desk.cwd}\n`)
    expect(await other('answer', 'helper', '--allow', ...offline)).toMatchObject({
      code: 1,
      err: expect.stringContaining(`web-fetch is to run in ${desk.cwd}, but this is ${desk.home}; allow it there`),
    })
    expect(await agents('answer', 'helper', '--allow', ...offline)).toMatchObject({ code: 0 })
    await agents('send', 'helper', 'fetch http://127.0.0.1:1/x', ...offline)
    expect(await other('answer', 'helper', '--deny', ...offline)).toMatchObject({ code: 0 })
  })

  test('a question that is answered elsewhere closes at the terminal', async () => {
    const desk = openDesk()
    const agents = here(desk)
    const id = await make(desk)
    const argv = ['agents', 'send', id, 'ask me: tea or coffee?', ...offline]
    const asked = startInTerminal([process.execPath, main, ...argv], { cwd: desk.cwd, env: desk.env })
    await asked.until(/▸ 1\. tea.*Esc: no answer/s)
    expect(await agents('answer', id, 'tea', ...offline)).toMatchObject({ code: 0 })
    expect(await asked.ended).toBe(0)
    expect(asked.text()).toMatch(/closed: it was answered elsewhere.*continues in another program; follow it with/s)
  })

  test('watch names running sub-agents, the cost, and removed messages', async () => {
    const desk = openDesk(service.url)
    const agents = here(desk)
    const id = (await agents('new', 'assistant', '-n', 'helper')).out.trim()
    const io = fakeIo({ home: desk.home, cwd: desk.cwd })
    const watching = runLibero(['agents', 'watch', 'helper'], io)
    await expect.poll(() => io.signals.size).toBe(1)
    const closed = gate()
    const spawn = { call: 'spawn-agent', args: { task: 'count' } }
    const look = { call: 'list-schedules', args: {} }
    service.play([spawn], [look], [{ say: 'three' }, { hang: closed }], [{ say: 'It is three.' }])
    const working = agents('send', 'helper', 'count for me', '--yolo')
    await expect.poll(() => io.said.out, { timeout: 5000 }).toContain('list-schedules') // while it runs
    closed.open()
    await working
    await expect.poll(() => io.said.err, { timeout: 5000 }).toContain('2 turns')
    await agents('rewind', 'helper', '--yes')
    await expect.poll(() => io.said.err, { timeout: 5000 }).toContain('The last message was undone.')
    io.signal('SIGINT')
    const { code, out, err } = await watching
    expect(code).toBe(0)
    expect(out).toMatch(new RegExp(`sub-agent ${id}/\\S+ starts\n +• list-schedules .*It is three\\.`, 's'))
    expect(err).toMatch(/^2 turns · .*\d s$/m)
  })

  test('files are restored to before a message; later changes by others are kept without --force', async () => {
    const desk = openDesk(service.url, undefined, { snapshots: true })
    const agents = here(desk)
    const git = (...args: string[]): string => execFileSync('git', args, { cwd: desk.cwd, encoding: 'utf8' })
    const text = (name: string): string => readFileSync(join(desk.cwd, name), 'utf8')
    git('init', '--quiet')
    desk.write('a.txt', 'mine')
    await agents('new', 'assistant', 'hello', '-n', 'helper')
    expect(git('for-each-ref', 'refs/libero')).toBe('') // it cannot change files, so no snapshot is stored
    expect((await agents('rollback', 'helper', '--plan')).err).toContain('its files were not kept')
    const plugins = [{ id: 'zx', toolId: 'zx-script' }]
    mkdirSync(join(desk.home, 'agents'))
    writeFileSync(join(desk.home, 'agents/scout.json'), JSON.stringify({ id: 'scout', config: { plugins } }))
    const script = 'for (const name of ["a.txt", "b.txt", "c.txt"]) fs.writeFileSync(name, "its")'
    service.play([{ call: 'zx-script', args: { script } }], [{ say: 'Written.' }])
    expect(await agents('new', 'scout', 'write', '-n', 'sc', '--yolo')).toMatchObject({ code: 0, out: 'Written.\n' })
    desk.write('b.txt', 'mine now')
    const plan = 'restore  a.txt\ndelete   c.txt\nkeep     b.txt: it was changed since\n'
    expect((await agents('rollback', 'sc', '--plan')).out).toContain(plan)
    expect(text('a.txt')).toBe('its')
    expect(await agents('rollback', 'sc')).toMatchObject({ code: 2, err: expect.stringContaining('add --yes') })
    const { messages } = JSON.parse((await agents('show', 'sc', '--json')).out)
    const back = JSON.parse((await agents('rollback', 'sc', messages[0].id.slice(0, 8), '--yes', '--json')).out)
    expect(back).toMatchObject({ restored: ['a.txt'], deleted: ['c.txt'], conflicts: [{ path: 'b.txt' }], failed: [] })
    expect([text('a.txt'), text('b.txt'), existsSync(join(desk.cwd, 'c.txt'))]).toEqual(['mine', 'mine now', false])
    expect((await agents('show', 'sc')).out).toContain('[its file changes were undone]')
    expect((await agents('rollback', 'sc', '--undo', '--yes')).out).toBe('restored  a.txt\nrestored  c.txt\n')
    expect([text('a.txt'), text('b.txt'), text('c.txt')]).toEqual(['its', 'mine now', 'its'])
    expect((await agents('rollback', 'sc', '--undo', '--yes')).err).toContain('there is nothing to undo')
  })
})

describe('definitions', () => {
  const put = (desk: Desk, name: string, value: unknown): void => {
    mkdirSync(join(desk.home, 'agents'), { recursive: true })
    writeFileSync(join(desk.home, 'agents', name), typeof value === 'string' ? value : JSON.stringify(value))
  }

  test('the user’s own are used, and an error in one file does not hide the others', async () => {
    const desk = openDesk(service.url)
    put(desk, 'scout.json', { id: 'scout', config: { prompts: [{ id: 'a', text: 'You scout.' }] } })
    put(desk, 'bad.json', '{ "id": ')
    put(desk, 'odd.json', { id: 'odd', config: { plugins: [{ id: 'x', toolId: 'web-fetsh' }] } })
    desk.write('.libero/agents/theirs.json', JSON.stringify({ id: 'theirs' }))
    const { code, out, err } = await desk.libero(['agents', 'definitions'])
    expect(code).toBe(0)
    expect(out).toMatch(/^assistant .*\n +built in\nlibrarian .*\n +built in\nscout\n +.*scout\.json$/m)
    expect(out).not.toContain('theirs')
    expect(err).toMatch(/bad\.json is left out: it is not JSON, line 1/)
    expect(err).toMatch(/odd\.json is left out: .*did you mean "web-fetch"/)
    service.play([{ say: 'On my way.' }])
    expect((await desk.libero(['agents', 'new', 'scout', 'go'])).out).toBe('On my way.\n')
    expect(JSON.stringify(service.requests.at(-1).messages[0])).toContain('You scout.')
    expect((await desk.libero(['agents', 'new', 'theirs'])).err).toContain('There is no definition "theirs"')
  })

  it('an agent whose definition is gone can be shown and deleted, and the missing definition is named', async () => {
    const desk = openDesk()
    put(desk, 'scout.json', { id: 'scout' })
    const id = (await desk.libero(['agents', 'new', 'scout'])).out.trim()
    put(desk, 'scout.json', { id: 'other' })
    expect((await desk.libero(['agents'])).out).toContain(`${id}  scout`)
    const { code, err } = await desk.libero(['agents', 'send', id, 'hi', ...offline])
    expect(code).toBe(1)
    expect(err).toContain('the definition "scout" of this agent does not exist')
    expect(await desk.libero(['agents', 'delete', id, '--yes'])).toMatchObject({ code: 0 })
  })
})

describe('wikis', () => {
  const wiki = (desk: Desk): void => {
    mkdirSync(join(desk.home, 'notes/tiddlers'), { recursive: true })
    writeFileSync(join(desk.home, 'notes/tiddlywiki.info'), '{"plugins":[],"themes":[]}')
    writeFileSync(
      join(desk.home, 'notes/tiddlers/Plans.tid'),
      'title: Plans\nmodified: 20260101000000000\n\nBuy milk\n',
    )
  }

  test('the librarian works in the wikis that the user’s settings name', async () => {
    const desk = openDesk(service.url)
    wiki(desk)
    expect(await desk.libero(['config', 'set', 'wikis.notes', '{"folder": "notes"}'])).toMatchObject({ code: 0 })
    const made = await desk.libero([
      'agents',
      'new',
      'librarian',
      'what is new in the wiki',
      ...offline,
      '--name',
      'lib',
    ])
    expect(made).toMatchObject({ code: 0, out: expect.stringContaining('- "Plans" (modified 2026-01-01') })
    service.play([{ say: 'Milk.' }])
    await desk.libero(['agents', 'send', 'lib', 'what do I need?', '--attach', 'notes/Plans'])
    expect(JSON.stringify(service.requests.at(-1).messages.at(-1))).toContain('Buy milk')
    const wrong = await desk.libero(['config', 'set', 'wikis.notes', '{"foldr": "notes"}'])
    expect(wrong.err).toContain('did you mean "folder"')
  })

  test('a missing page is reported to the person, and no message is sent', async () => {
    const desk = openDesk(service.url)
    const id = await make(desk)
    const before = service.requests.length
    const attach = (page: string) => desk.libero(['agents', 'send', id, 'read this', '--attach', page])
    const refused = (why: string) => ({ code: 2, out: '', err: expect.stringContaining(why) })
    expect(await attach('garden/Plans')).toMatchObject(refused("libero config set wikis.garden '{"))
    wiki(desk)
    await desk.libero(['config', 'set', 'wikis.notes', '{"folder": "notes"}'])
    expect(await attach('garden/Plans')).toMatchObject(refused('there is no wiki "garden"; there is notes'))
    expect(await attach('notes/Plan')).toMatchObject(refused('the page does not exist; did you mean "Plans"?'))
    expect(await attach('notes/Something else')).toMatchObject(refused('the page does not exist; none has'))
    const made = await desk.libero(['agents', 'new', 'librarian', 'read this', '--attach', 'notes/Plan'])
    expect(made).toMatchObject(refused('did you mean "Plans"?'))
    expect(service.requests).toHaveLength(before)
    expect(JSON.parse((await desk.libero(['agents', '--json'])).out)).toMatchObject({
      agents: [{ id, status: 'idle' }],
    })
  })

  test('a project cannot name wikis', async () => {
    const { tighten } = await import('../../src/cli/config/tighten.ts')
    const project = { path: '/p/.libero/config.json', config: { wikis: { notes: { folder: '/home' } } } }
    const { config, warnings } = tighten(undefined, project)
    expect(config.wikis).toBeUndefined()
    expect(warnings[0]).toContain('a project must not choose what your agents read and write')
  })
})

describe('libero sessions and agents', () => {
  it('agents are not listed as sessions, and a run cannot resume one', async () => {
    const desk = openDesk()
    const id = await make(desk)
    await desk.libero(['agents', 'send', id, 'hello', ...offline])
    expect((await desk.libero(['sessions', 'list', '--all'])).out).toBe('')
    expect((await desk.libero(['sessions', 'show', id])).out).toContain('hello')
    const { code, err } = await desk.libero(['sessions', 'resume', id, 'more'])
    expect(code).toBe(1)
    expect(err).toContain(`libero agents send ${id}`)
    expect((await desk.libero(['-c', 'more', ...offline])).err).toContain('No session was begun in')
  })
})

/** Another process that runs the agent until `closed` is opened. */
async function atWork(desk: Desk, id: string) {
  const closed = gate()
  service.play([{ say: 'Let me ' }, { hang: closed }])
  const working = desk.start(['agents', 'send', id, 'think'])
  working.child.stdin.end()
  await closed.reached
  return { working, closed }
}
