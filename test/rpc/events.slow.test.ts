import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Validator } from '@cfworker/json-schema'
import { afterAll, beforeAll, describe, expect } from 'vitest'
import { eventLineSchema } from '../../src/rpc/event-line-schema.ts'
import { type Desk, openDesk } from '../cli/cli-kit.ts'
import { testInTurns } from '../soak.ts'
import { type MockService, type Step, startMockService } from './mock-service.ts'

// Each of them starts processes.
const test = testInTurns(2)

// biome-ignore lint/suspicious/noExplicitAny: lines are what these tests look into
type Line = any

let service: MockService
beforeAll(async () => {
  service = await startMockService()
})
afterAll(() => service.close())

const validator = new Validator(eventLineSchema as object, '2020-12')

/** Each line is one that the schema knows. */
function linesOf(out: string): Line[] {
  const lines: Line[] = out
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))
  const wrong = lines.filter((line) => !validator.validate(line).valid)
  expect(wrong).toEqual([])
  return lines
}

const dot = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=='
const durable = (lines: readonly Line[]): Line[] => lines.filter((line) => line.durable === true)
/** The last entry, without the note of a snapshot that is taken after the run. */
const lastOfRun = (lines: readonly Line[]) => durable(lines).findLast(({ entry }) => entry.type !== 'state')?.entry
const makes: readonly Step[] = [{ call: 'shell', args: { command: 'echo made > made.txt' } }]

/** Waits for a line of a process, then sends a command. */
async function talk(desk: Desk, args: readonly string[], say: (line: Line) => object | string | 'end' | undefined) {
  const running = desk.start(args)
  let seen = 0
  running.child.stdout.on('data', () => {
    const complete = running.said.out.split('\n').slice(0, -1)
    for (const text of complete.slice(seen)) {
      seen++
      const answer = say(JSON.parse(text))
      if (answer === 'end') running.child.stdin.end()
      else if (answer !== undefined)
        running.child.stdin.write(`${typeof answer === 'string' ? answer : JSON.stringify(answer)}\n`)
    }
  })
  const { code, out, err } = await running.ended
  return { code, err, lines: linesOf(out) }
}

describe('libero run --events', () => {
  test('writes hello, then every event of the run; the durable ones are numbered without gaps', async () => {
    const desk = openDesk(service.url)
    service.play([{ say: 'Hello ' }, { say: 'there.' }])
    const { code, out } = await desk.process(['--events', 'hi'])
    const [hello, ...rest] = linesOf(out)
    expect(code).toBe(0)
    expect(hello).toMatchObject({
      type: 'hello',
      lines: 1,
      events: 1,
      provider: 'mock',
      model: 'mock-1',
      cwd: desk.cwd,
    })
    expect(
      rest
        .filter(({ type }) => type === 'text')
        .map(({ delta }) => delta)
        .join(''),
    ).toBe('Hello there.')
    const numbers = durable(rest).map(({ seq }) => seq)
    expect(numbers).toEqual(numbers.map((_, i) => hello.head + 1 + i))
    expect(lastOfRun(rest)).toMatchObject({ type: 'run_ended', status: 'completed' })
  })

  test('a client that returns with the last number gets exactly the missed events', async () => {
    const desk = openDesk(service.url)
    service.play([{ say: 'one' }], [{ say: 'two' }])
    const first = linesOf((await desk.libero(['--events', '--prompt', 'a'])).out)
    const [{ session, head }] = first
    const all = durable(first)
    for (const cut of [head, all[2].seq, all.at(-1).seq]) {
      const again = linesOf((await desk.libero(['--events', '--resume', session, '--after', String(cut)])).out)
      expect(durable(again)).toEqual(all.filter(({ seq }) => seq > cut))
    }
  })

  test('E03 what is replayed is what was live, also an entry of more than 256 KiB', async () => {
    const desk = openDesk(service.url)
    service.play([{ say: 'long '.repeat(60_000) }])
    const first = linesOf((await desk.libero(['--events', '--prompt', 'a'])).out)
    const [{ session }] = first
    const again = linesOf((await desk.libero(['--events', '--resume', session, '--after', '0'])).out)
    const [live, replayed] = [durable(first), durable(again).slice(-durable(first).length)]
    expect(replayed).toEqual(live)
    expect(Math.max(...replayed.map((line) => JSON.stringify(line).length))).toBeGreaterThan(300_000)
    expect(JSON.stringify(durable(again))).not.toContain('"spilled"')
  })

  test('an approval is a request that the client answers', async () => {
    const desk = openDesk(service.url)
    service.play(makes, [{ say: 'Made.' }])
    const { code, lines } = await talk(desk, ['--events', '--prompt', 'make it'], (line) => {
      if (line.type === 'request') return { id: 'a', type: 'answer', request: line.request, value: true }
      return line.durable && line.entry.type === 'run_ended' ? 'end' : undefined
    })
    expect(code).toBe(0)
    const request = lines.find(({ type }) => type === 'request')
    expect(request).toMatchObject({ kind: 'Approve', payload: { toolId: 'shell' } })
    expect(request.payload.description).toContain('echo made > made.txt')
    expect(lines).toContainEqual({ type: 'reply', command: 'answer', id: 'a', ok: true })
    expect(lines).toContainEqual({ type: 'request_closed', request: request.request })
    expect(readFileSync(join(desk.cwd, 'made.txt'), 'utf8')).toBe('made\n')
  })

  test('a refusal is told to the model, and an answer without a request is an error', async () => {
    const desk = openDesk(service.url)
    service.play(makes, [{ say: 'Then not.' }])
    const { code, lines } = await talk(desk, ['--events', '--prompt', 'make it'], (line) => {
      if (line.type === 'hello') return { type: 'answer', request: 'none', value: true }
      if (line.type === 'request') return { type: 'answer', request: line.request, reason: 'not here' }
      return line.durable && line.entry.type === 'run_ended' ? 'end' : undefined
    })
    expect(code).toBe(0)
    expect(lines).toContainEqual(
      expect.objectContaining({ type: 'reply', ok: false, error: expect.stringContaining('no open request "none"') }),
    )
    expect(JSON.stringify(service.requests.at(-1).messages)).toContain('not here')
    expect(existsSync(join(desk.cwd, 'made.txt'))).toBe(false)
  })

  test('with no client left to answer it halts with 3', async () => {
    const desk = openDesk(service.url)
    service.play(makes)
    const { code, out } = await desk.libero(['--events', '--prompt', 'make it'])
    expect(code).toBe(3)
    expect(lastOfRun(linesOf(out))).toMatchObject({ type: 'run_ended', status: 'suspended' })
  })

  test('prompts come over stdin, one after another, and bad lines get a reply', async () => {
    const desk = openDesk(service.url)
    service.play([{ say: 'one' }], [{ say: 'two' }])
    const stdin = [
      '{"type":"prompt","message":"a","id":"1"}',
      'nonsense',
      '{"type":"prompt","message":"b","clientKey":"k"}',
      '{"type":"dance"}',
      '{"type":"prompt"}',
      '',
    ].join('\n')
    const { code, out } = await desk.libero(['--events'], { stdin })
    const lines = linesOf(out)
    expect(code).toBe(0)
    expect(lines.filter(({ type }) => type === 'reply').map(({ command, ok }) => `${command} ${ok}`)).toEqual([
      'prompt true',
      ' false',
      'prompt true',
      'dance false',
      'prompt false',
    ])
    expect(durable(lines).filter(({ entry }) => entry.type === 'run_ended')).toHaveLength(2)
  })

  test('E16 meta of a prompt and of steering is in the log, and one that is no object or too large is refused', async () => {
    const desk = openDesk(service.url)
    service.play([{ call: 'shell', args: { command: 'true' } }], [{ say: 'done' }])
    const meta = { sender: 'ada' }
    const prompt = { type: 'prompt', message: 'a', meta }
    const { lines } = await talk(desk, ['--events', '--yolo'], (line) => {
      if (line.type === 'hello')
        return `{"type":"prompt","message":"no","meta":["x"]}\n${JSON.stringify({ ...prompt, meta: { x: 'x'.repeat(9000) } })}\n${JSON.stringify(prompt)}`
      if (line.durable && line.entry.type === 'call_started') return { type: 'steer', message: 'b', meta }
      return line.durable && line.entry.type === 'run_ended' ? 'end' : undefined
    })
    expect(lines.find(({ type, ok }) => type === 'reply' && !ok).error).toBe('"meta" must be an object')
    expect(lines.find(({ type }) => type === 'not_run').error).toMatch(/meta.* may have 8192/)
    const entries = durable(lines).map(({ entry }) => entry)
    expect(entries.filter((entry) => entry.type === 'run_started').map((entry) => entry.meta)).toEqual([meta])
    expect(entries.find((entry) => entry.type === 'input')).toMatchObject({ mode: 'steer', meta })
  })

  test('steering and abort reach the run under way', async () => {
    const desk = openDesk(service.url)
    service.play([{ call: 'shell', args: { command: 'sleep 30' } }])
    const { code, lines } = await talk(desk, ['--events', '--yolo', '--prompt', 'wait'], (line) => {
      if (line.durable && line.entry.type === 'call_started')
        return `{"type":"steer","message":"stop that"}\n{"type":"abort"}`
      return line.durable && line.entry.type === 'run_ended' ? 'end' : undefined
    })
    expect(code).toBe(130)
    expect(durable(lines).some(({ entry }) => entry.type === 'input' && entry.mode === 'steer')).toBe(true)
    expect(lastOfRun(lines)).toMatchObject({ type: 'run_ended', status: 'aborted' })
  })

  test('a prompt that is aborted at once is reported, although it never ran', async () => {
    const desk = openDesk(service.url)
    service.play([{ say: 'never' }])
    const stdin = '{"type":"prompt","message":"a","id":"1"}\n{"type":"abort"}\n'
    const { code, out } = await desk.libero(['--events'], { stdin })
    const lines = linesOf(out)
    expect(code).toBe(130)
    expect(durable(lines)).toEqual([])
    expect(lines.at(-1)).toEqual({ type: 'not_run', command: 'prompt', id: '1', status: 'aborted' })
  })

  test('images of the command line are sent with the first prompt only', async () => {
    const desk = openDesk(service.url)
    service.play([{ say: 'one' }], [{ say: 'two' }])
    writeFileSync(join(desk.cwd, 'dot.png'), Buffer.from(dot, 'base64'))
    const said = [{ type: 'prompt', message: 'a' }, { type: 'prompt', message: 'b' }, { type: 'continue' }]
    const stdin = said.map((command) => `${JSON.stringify(command)}\n`).join('')
    const { code, out } = await desk.libero(['--events', '--image', 'dot.png'], { stdin })
    expect(code).toBe(0)
    const turns = durable(linesOf(out)).flatMap(({ entry }) => (entry.turn?.role === 'user' ? [entry.turn] : []))
    const kinds = turns.map(({ content }: { content: Line[] }) => content.map(({ type }) => type))
    expect(kinds).toEqual([['text', 'image'], ['text']])
  })

  test('FC-02 no event of a child is lost for a slow reader, and the child waits for it', async () => {
    const desk = openDesk(service.url)
    const times = 30_000
    service.play([{ call: 'spawn', args: { task: 'talk' } }], [{ flood: 'y'.repeat(1000), times }], [{ say: 'k' }])
    const running = desk.start(['--events', '--yolo', 'go'])
    running.child.stdout.pause()
    const before = service.sent
    await settled(() => service.sent)
    expect(service.sent - before).toBeGreaterThan(0)
    expect(service.sent - before).toBeLessThan(times / 2)
    running.child.stdin.end()
    running.child.stdout.resume()
    const { code, out } = await running.ended
    expect(code).toBe(0)
    const said = out.split('\n').filter((line) => line.includes('"child"') && line.includes('"delta"'))
    expect(said.reduce((sum, line) => sum + JSON.parse(line).event.delta.length, 0)).toBe(times * 1000)
  })
})

/** Waits until a number has grown and stopped growing. */
async function settled(count: () => number): Promise<void> {
  const first = count()
  for (let i = 0, last = -1, still = 0; i < 300 && still < 15; i++) {
    await new Promise((go) => setTimeout(go, 50))
    still = count() !== first && count() === last ? still + 1 : 0
    last = count()
  }
}
