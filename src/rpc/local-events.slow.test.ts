import { chmodSync, mkdirSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { connect, createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { temporary } from '../../test/temporary.ts'
import type { StreamedEvent } from '../events/event-queue.ts'
import { createAgent, createMemoryStore, createSession } from '../index.ts'
import { scripted } from '../testing/index.ts'
import { joinLocalRuns } from './join-local-runs.ts'
import { socketPath } from './local-socket.ts'
import { offerLocalEvents } from './offer-local-events.ts'

interface Working {
  readonly run: { readonly runId: string; readonly processId: string }
  /** The model goes on, by one word. */
  say(word: string): void
  end(): Promise<unknown>
}

/** A run of this process whose model says what it is told to. */
async function work(): Promise<Working> {
  const words: string[] = []
  let wake = (): void => {}
  const provider = scripted()
  const session = await createSession({ store: createMemoryStore(), id: 's' })
  const started = Promise.withResolvers<string>()
  const agent = createAgent({
    provider: {
      ...provider,
      async *stream(_request, signal) {
        yield { type: 'start' }
        let text = ''
        for (;;) {
          while (words.length === 0) await new Promise<void>((resolve) => (wake = resolve))
          const delta = words.shift()!
          if (delta === '' || signal.aborted) break
          text += delta
          yield { type: 'text', delta }
        }
        yield { type: 'reply', content: [{ type: 'text', text }], usage: { input: 1, output: 1 }, stop: 'end' }
      },
    },
    session,
    hooks: { 'stream:start': () => started.resolve('') },
  })
  agent.log.subscribe((entry) => {
    if (entry.type === 'run_started') Object.assign(run, { runId: entry.runId, processId: entry.processId })
  })
  const run = { runId: '', processId: '' }
  const running = agent.run({ prompt: 'Speak.' })
  await started.promise
  const say = (word: string): void => {
    words.push(word)
    wake()
  }
  const end = async (): Promise<void> => {
    say(' End.') // an empty reply would be asked for again
    say('')
    await running
    await agent.destroy()
  }
  onTestFinished(end)
  return { run, say, end }
}

/** The events that one reader gets. */
function read(folder: string, { run }: Working) {
  const events: StreamedEvent[] = []
  const feed = joinLocalRuns({ folder })(run, (event) => events.push(event))
  onTestFinished(() => feed.leave())
  const text = (): string =>
    events.reduce((all, event) => {
      if (event.type === 'snapshot') return event.reply.text
      return event.type === 'text' ? all + event.delta : all
    }, '')
  return { events, feed, text }
}

async function offered(): Promise<string> {
  const folder = join(await temporary('offer-'), 'run')
  onTestFinished(offerLocalEvents({ folder, onProblem: (error) => expect.fail(String(error)) }))
  return folder
}

const until = (isTrue: () => boolean): Promise<void> => expect.poll(isTrue, { timeout: 10_000, interval: 5 }).toBe(true)

describe('VE05 the socket of a process', () => {
  test('VE05 is made with the first run, only its user can open it, and it is gone when it is closed', async () => {
    const folder = join(await temporary('offer-'), 'run')
    const close = offerLocalEvents({ folder })
    expect(() => readdirSync(folder)).toThrow('ENOENT')
    const working = await work()
    await until(() => readdirSync(folder).length === 1)
    const [name = ''] = readdirSync(folder)
    expect(join(folder, name)).toBe(socketPath(folder, working.run.processId))
    expect(statSync(folder).mode & 0o777).toBe(0o700)
    await until(() => (statSync(join(folder, name)).mode & 0o777) === 0o600)
    await close()
    expect(readdirSync(folder)).toEqual([])
  })

  test('VE05 gives two readers the same: what was said so far, and the rest', async () => {
    const folder = await offered()
    const working = await work()
    const early = read(folder, working)
    working.say('One ')
    await until(() => early.text() === 'One ')
    const late = read(folder, working)
    await until(() => late.text() === 'One ')
    expect(late.events[0]).toMatchObject({ type: 'snapshot', reply: { text: 'One ' } })
    working.say('two.')
    await until(() => early.text() === 'One two.' && late.text() === 'One two.')
    early.feed.leave()
    working.say(' Three.')
    await until(() => late.text() === 'One two. Three.')
    expect(early.text()).toBe('One two.')
  })

  test('VE05 that is offered twice stays until both are closed', async () => {
    const folder = await offered()
    const close = offerLocalEvents({ folder })
    const working = await work()
    await close()
    await close()
    const reader = read(folder, working)
    working.say('Here.')
    await until(() => reader.text() === 'Here.')
  })

  test('VE05 can be joined before it is there, and again after it was closed', async () => {
    const folder = join(await temporary('offer-'), 'run')
    const working = await work()
    const reader = read(folder, working)
    const close = offerLocalEvents({ folder })
    working.say('Late, ')
    await until(() => reader.text() === 'Late, ')
    await close()
    onTestFinished(offerLocalEvents({ folder }))
    working.say('but here.')
    await until(() => reader.text() === 'Late, but here.')
  })

  test('VE05 removes those that killed processes left behind, and no other file', async () => {
    const folder = join(await temporary('offer-'), 'run')
    mkdirSync(folder, { mode: 0o755 })
    const [dead, living] = [join(folder, 'dead.sock'), join(folder, 'living.sock')]
    writeFileSync(join(folder, 'note.txt'), '')
    await leaveBehind(dead)
    await listening(living)
    onTestFinished(offerLocalEvents({ folder }))
    const { run } = await work()
    await until(() => readdirSync(folder).includes(socketPath('', run.processId)))
    expect(readdirSync(folder)).toHaveLength(3)
    expect(readdirSync(folder)).not.toContain('dead.sock')
    expect(statSync(folder).mode & 0o777).toBe(0o700)
  })

  test('VE05 is not offered, with a reason, where its path is too long or where its folder is a link', async () => {
    const parent = await temporary('offer-')
    mkdirSync(join(parent, 'elsewhere'))
    symlinkSync(join(parent, 'elsewhere'), join(parent, 'link'))
    const problems: unknown[] = []
    const onProblem = (error: unknown): void => void problems.push(error)
    for (const folder of [join(parent, 'x'.repeat(100)), join(parent, 'link')])
      onTestFinished(offerLocalEvents({ folder, onProblem }))
    const working = await work()
    await until(() => problems.length === 2)
    expect(problems.map(String).toSorted()).toEqual([
      expect.stringMatching(/is not a folder of this user/),
      expect.stringMatching(/too long for a socket.*choose a shorter folder/),
    ])
    const reader = read(join(parent, 'x'.repeat(100)), working)
    working.say('Still at work.')
    await working.end()
    expect(reader.events).toEqual([])
  })

  test('VE05 of a dead process, or one that tells nonsense, gives a reader nothing and does no harm', async () => {
    const folder = join(await temporary('offer-'), 'run')
    mkdirSync(folder)
    const working = await work()
    await leaveBehind(socketPath(folder, working.run.processId))
    const fromDead = read(folder, working)
    const other = { ...working, run: { ...working.run, processId: 'another-process-0' } }
    const server = await listening(socketPath(folder, other.run.processId), (socket) => {
      socket.write('no JSON\n{"durable":true}\n[]\nnull\n{"durable":false,"type":"text"}\n\xff\xfe\n')
      socket.write('{"durable":false,"type":"invented_later","after":0}\n')
    })
    const fromNonsense = read(folder, other)
    await until(() => fromNonsense.events.length === 1)
    expect(fromNonsense.events).toEqual([{ durable: false, type: 'invented_later', after: 0 }])
    expect(fromDead.events).toEqual([])
    server.close()
  })

  test('VE05 that is in another folder is not joined, whatever name a log has', async () => {
    const folder = join(await temporary('offer-'), 'run')
    mkdirSync(folder)
    const working = await work()
    let connections = 0
    await listening(join(folder, '../other.sock'), () => connections++)
    const reader = read(folder, { ...working, run: { ...working.run, processId: '../other' } })
    working.say('Mine.')
    await new Promise((resolve) => setTimeout(resolve, 100))
    expect([connections, reader.events]).toEqual([0, []])
  })

  test('VE05 ends the connection of a client that says too much, and serves the others', async () => {
    const folder = await offered()
    const working = await work()
    const reader = read(folder, working)
    working.say('Hello.')
    await until(() => reader.text() === 'Hello.')
    const noisy = connect(socketPath(folder, working.run.processId))
    const isClosed = new Promise((resolve) => noisy.on('error', () => {}).on('close', resolve))
    noisy.write('x'.repeat(100_000))
    await isClosed
    working.say(' Still here.')
    await until(() => reader.text() === 'Hello. Still here.')
  })

  test.runIf(process.getuid?.() === 0)('VE05 of another user is not joined', async () => {
    const { chownSync } = await import('node:fs')
    const folder = join(await temporary('offer-'), 'run')
    mkdirSync(folder)
    const working = await work()
    const path = socketPath(folder, working.run.processId)
    let connections = 0
    await listening(path, () => connections++)
    chownSync(path, 65534, 65534)
    chmodSync(path, 0o777)
    const reader = read(folder, working)
    working.say('Mine.')
    await new Promise((resolve) => setTimeout(resolve, 100))
    expect([connections, reader.events]).toEqual([0, []])
  })
})

async function listening(path: string, onConnection: (socket: import('node:net').Socket) => unknown = () => {}) {
  const server: Server = createServer((socket) => onConnection(socket.on('error', () => {})))
  await new Promise<void>((resolve) => server.listen(path, resolve))
  onTestFinished(() => void server.close())
  return server
}

/** A socket file whose process is gone. */
async function leaveBehind(path: string): Promise<void> {
  const { spawnSync } = await import('node:child_process')
  const code = `require('node:net').createServer().listen(${JSON.stringify(path)}, () => process.kill(process.pid, 'SIGKILL'))`
  spawnSync(process.execPath, ['-e', code])
}
