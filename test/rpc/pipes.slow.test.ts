import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect } from 'vitest'
import { isRunning, ownSeconds } from '../processes.ts'
import { testInTurns } from '../soak.ts'
import { toolFile } from '../stories/tool-layers-kit.ts'
import { plainTurn } from './check-grammar.ts'
import { gate } from './mock-service.ts'
import { type Client, order, quiet, scratch, service, startRpc, until } from './rpc-kit.ts'

// Each of them starts a process.
const test = testInTurns(3)

const mebibyte = 1024 * 1024

/** A folder for the user's own tools. */
function homeWith(tools: Readonly<Record<string, string>>): string {
  const home = scratch()
  mkdirSync(join(home, 'tools'))
  for (const [name, text] of Object.entries(tools)) writeFileSync(join(home, 'tools', `${name}.mjs`), text)
  return home
}

describe('a slow reader', () => {
  const piece = 'x'.repeat(1000)
  const times = 24_000 // a reply may have 32 MiB

  async function stalled(): Promise<{ client: Client; mock: Awaited<ReturnType<typeof service>> }> {
    const mock = await service()
    mock.play([{ say: 'begin ' }, { flood: piece, times }, { say: ' end' }])
    const client = startRpc(mock, { reads: false })
    client.send({ id: '1', type: 'prompt', message: 'go' })
    let before = -1
    let quiet = 0
    await until(() => {
      quiet = mock.sent > 0 && mock.sent === before ? quiet + 1 : 0
      before = mock.sent
      return quiet >= 10
    }, 'the service is not read from any more')
    return { client, mock }
  }

  test('FC-02 makes the model wait, so that memory stays bounded, and gets every frame in order', async () => {
    const { client, mock } = await stalled()
    // The buffers of the system, and our own queue.
    expect(mock.sent * piece.length).toBeLessThan(20_000_000)
    client.listen()
    await client.next('done')
    expect(order(client.frames).slice(2)).toEqual([...plainTurn, 'done'])
    const streamed = client.frames.filter(({ type }) => type === 'text_delta').map(({ delta }) => delta)
    const whole = `begin ${piece.repeat(times)} end`
    expect(streamed.join('') === whole).toBe(true)
    expect(client.frames.find(({ type }) => type === 'assistant_message').content[0].text === whole).toBe(true)
    expect(mock.sent).toBe(times)
  }, 60_000)

  test('FC-02 can still abort', async () => {
    const { client, mock } = await stalled()
    client.send({ id: 'a', type: 'abort' })
    client.listen()
    await client.next('turn_end', ({ stop }) => stop === 'aborted')
    await client.next('done')
    expect(mock.sent).toBeLessThan(times)
    expect((await client.ask({ type: 'ping' })).success).toBe(true)
  }, 60_000)

  test('FC-02 misses some progress of a tool that never stops writing, and nothing else', async () => {
    const told = join(scratch(), 'told')
    const home = homeWith({
      chatter: toolFile('chatter', {
        execute: `async (input, host) => {
    for (let i = 0; i < 20000; i++) {
      host.progress('x'.repeat(1000))
      if (i % 100 === 0) await new Promise((go) => setTimeout(go, 1))
    }
    ;(await import('node:fs')).writeFileSync(${JSON.stringify(told)}, '')
    return { ok: true, value: 'said enough' }
  }`,
      }),
    })
    const mock = await service()
    mock.play([{ call: 'chatter', args: {} }])
    const client = startRpc(mock, { home, reads: false })
    client.send({ id: '1', type: 'prompt', message: 'go' })
    await until(() => existsSync(told), 'the tool has said all it has to say')
    client.listen()
    expect((await client.next('tool_result')).content[0].text).toMatch(/said enough/)
    await client.next('done')
    const heard = client.frames.filter(({ type }) => type === 'tool_progress').map(({ text }) => text.length)
    const sum = heard.reduce((all, one) => all + one, 0)
    expect(sum).toBeGreaterThan(1000)
    expect(sum).toBeLessThan(3 * mebibyte)
  })

  test('FC-12 gets everything that was queued, to the last line', async () => {
    const mock = await service()
    const client = startRpc(mock)
    client.send({ type: 'prompt', message: 'y'.repeat(5 * mebibyte) })
    await client.next('done')
    client.child.stdout.pause()
    for (const id of ['a', 'b', 'c']) client.send({ id, type: 'get_messages' })
    client.end()
    await new Promise((go) => setTimeout(go, 500))
    expect(client.child.exitCode).toBeNull()
    client.child.stdout.resume()
    expect(await client.exited).toBe(0)
    const answers = client.frames.slice(-3)
    expect(answers.map(({ id }) => id)).toEqual(['a', 'b', 'c'])
    for (const { data } of answers) expect(data.messages[0].content[0].text.length).toBe(5 * mebibyte)
  })
})

describe('the ends of the pipes', () => {
  test('C027 stdin that is closed right after a prompt still yields all frames', async () => {
    const mock = await service()
    mock.play([{ call: 'bash', args: { command: 'echo hi' } }], [{ say: 'Done.' }])
    const client = startRpc(mock)
    client.send({ id: '1', type: 'prompt', message: 'go' })
    client.end()
    expect(await client.exited).toBe(0)
    expect(order(client.frames).slice(-3)).toEqual(['assistant_message', 'turn_end', 'done'])
    expect(client.stderr()).toMatch(quiet)
  })

  test('C027 the last line needs no newline', async () => {
    const client = startRpc(await service())
    client.child.stdin.end('{"type":"ping","id":"p"}')
    expect(await client.exited).toBe(0)
    expect(client.frames).toEqual([{ command: 'ping', data: { pong: true }, id: 'p', success: true, type: 'response' }])
  })

  test('C028 a line of 15 MiB is read', async () => {
    const mock = await service()
    const client = startRpc(mock)
    const message = 'z'.repeat(15 * mebibyte)
    client.send({ id: '1', type: 'prompt', message })
    await client.next('done')
    expect(mock.requests[0].messages.at(-1).content.length).toBe(message.length)
  })

  test('C028 a line over 16 MiB ends reading with an error; the current run is finished', async () => {
    const mock = await service()
    const held = gate()
    mock.play([{ say: 'one' }, { hang: held }])
    const client = startRpc(mock)
    client.send({ id: '1', type: 'prompt', message: 'go' })
    await client.next('text_delta')
    client.send(`{"type":"prompt","message":"${'z'.repeat(17 * mebibyte)}"}\n{"type":"ping"}\n`)
    held.open()
    expect(await client.exited).toBe(1)
    expect(client.stderr()).toMatch(/longer than 16777216 bytes/)
    expect(client.frames.at(-1)).toEqual({ type: 'done' })
    expect(order(client.frames).filter((type) => type === 'response')).toHaveLength(1)
  })

  test('FC-06 a closed stdout ends it quietly, with its tools', async () => {
    const mock = await service()
    const sleep = `sleep ${ownSeconds()}`
    mock.play([{ call: 'bash', args: { command: `${sleep} & while true; do echo again; sleep 0.1; done` } }])
    const client = startRpc(mock)
    client.send({ id: '1', type: 'prompt', message: 'go' })
    await client.next('tool_progress')
    expect(isRunning(sleep)).toBe(true)
    client.child.stdout.destroy()
    expect(await client.exited).toBe(141)
    await until(() => !isRunning(sleep), 'the command is gone')
    expect(client.stderr()).toMatch(quiet)
  })

  test('FC-06 so does one that closes during much output', async () => {
    const mock = await service()
    mock.play([{ flood: 'x'.repeat(1000), times: 20_000 }])
    const client = startRpc(mock)
    client.send({ id: '1', type: 'prompt', message: 'go' })
    await client.next('text_delta')
    client.child.stdout.destroy()
    expect(await client.exited).toBe(141)
    expect(client.stderr()).toMatch(quiet)
  })

  test('FC-06 when its parent process dies, both pipes close, and it ends', async () => {
    const client = startRpc(await service())
    await client.ask({ type: 'ping' })
    client.child.stdin.destroy()
    client.child.stdout.destroy()
    expect([0, 141]).toContain(await client.exited) // depends on which pipe closes first
  })
})

describe('signals', () => {
  test('SIGTERM aborts the run, leaves no process behind, and the frames are completed', async () => {
    const mock = await service()
    const sleep = `sleep ${ownSeconds()}`
    mock.play([{ call: 'bash', args: { command: sleep } }])
    const client = startRpc(mock)
    client.send({ id: '1', type: 'prompt', message: 'go' })
    client.send({ id: '2', type: 'prompt', message: 'never' })
    await until(() => isRunning(sleep), 'the command runs')
    client.child.kill('SIGTERM')
    expect(await client.exited).toBe(143)
    await until(() => !isRunning(sleep), 'the command is gone')
    expect(order(client.frames).slice(-2)).toEqual(['tool_result', 'done'])
    expect(mock.requests).toHaveLength(1)
  })

  test('SIGTERM ends it also if stdout is not read', async () => {
    const mock = await service()
    mock.play([{ flood: 'x'.repeat(1000), times: 20_000 }])
    const client = startRpc(mock, { reads: false })
    client.send({ id: '1', type: 'prompt', message: 'go' })
    await until(() => mock.sent > 1000, 'the model speaks')
    client.child.kill('SIGTERM')
    const code = await new Promise((done) => client.child.on('exit', done))
    expect(code).toBe(143)
  })

  test('SIGINT when it is idle ends it at once', async () => {
    const client = startRpc(await service())
    await client.ask({ type: 'ping' })
    client.child.kill('SIGINT')
    expect(await client.exited).toBe(130)
  })
})

describe('stdout', () => {
  test('C031 FC-15 carries only frames, whatever a tool prints when it is loaded or runs', async () => {
    const noise = toolFile('noisy', {
      execute: `async () => {
    console.log('noise from log')
    process.stdout.write('noise from write\\n')
    console.info('noise from info')
    console.table([{ noise: 'table' }])
    return { ok: true, value: 'quiet now' }
  }`,
    })
    const home = homeWith({ noisy: `console.log('noise at import')\nprocess.stdout.write('half a line')\n${noise}` })
    const mock = await service()
    mock.play([{ call: 'noisy', args: {} }])
    const client = startRpc(mock, { home })
    client.send({ id: '1', type: 'prompt', message: 'go' })
    const result = await client.next('tool_result')
    expect(result.content[0].text).toMatch(/quiet now/)
    await client.next('done')
    for (const said of ['noise at import', 'half a line', 'noise from log', 'noise from write', 'noise from info'])
      expect(client.stderr()).toContain(said)
    client.end()
    expect(await client.exited).toBe(0)
  })

  test('C037 results come in the order of the calls, although the last one is ready first', async () => {
    const waits = (name: string, ms: number): string =>
      toolFile(name, {
        isConcurrencySafe: 'true',
        execute: `async () => { await new Promise((go) => setTimeout(go, ${ms})); return { ok: true, value: '${name}' } }`,
      })
    const home = homeWith({ slow: waits('slow', 400), middle: waits('middle', 200), quick: waits('quick', 1) })
    const mock = await service()
    mock.play([
      { call: 'slow', args: {} },
      { call: 'middle', args: {} },
      { call: 'quick', args: {} },
    ])
    const client = startRpc(mock, { home })
    client.send({ id: '1', type: 'prompt', message: 'go' })
    await client.next('done')
    const results = client.frames.filter(({ type }) => type === 'tool_result')
    expect(results.map(({ content }) => content[0].text.match(/slow|middle|quick/)?.[0])).toEqual([
      'slow',
      'middle',
      'quick',
    ])
  })
})
