import { mkdtempSync, rmSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { digestOf } from '../platform/digest.ts'
import { createProcessContext } from './process.ts'
import type { SandboxExecOptions } from './sandbox/provider.ts'
import { createSandboxContext, type SandboxProvider } from './sandbox.ts'

const scratch = mkdtempSync(join(tmpdir(), 'libero-sandbox-test-'))
afterAll(() => rmSync(scratch, { recursive: true, force: true }))

describe('a provider that ignores what it is asked', () => {
  test('a command that never ends is given up at the time limit, and the result says so', async () => {
    const context = createSandboxContext(provider({ exec: never }), { graceMs: 10 })
    const done = await context.exec(await context.spawn(), 'sleep', { timeout: 20 })
    expect(done).toEqual({
      stdout: '',
      stderr: expect.stringContaining('it may still be running'),
      exitCode: null,
      timedOut: true,
    })
  })

  test('it is given up when its signal is aborted, without a word of time', async () => {
    const abort = new AbortController()
    const exec = () => {
      abort.abort()
      return never()
    }
    const context = createSandboxContext(provider({ exec }), { graceMs: 10 })
    const done = await context.exec(await context.spawn(), 'sleep', { signal: abort.signal, timeout: 0 })
    expect(done).toEqual({ stdout: '', stderr: expect.stringContaining('may still be running'), exitCode: null })
  })

  test('what it told until then is kept', async () => {
    const exec = (_: string, __: string, { onOutput }: SandboxExecOptions) => {
      onOutput?.('so ', 'stdout')
      onOutput?.('far', 'stdout')
      return never()
    }
    const context = createSandboxContext(provider({ exec }), { graceMs: 10 })
    expect(await context.exec(await context.spawn(), 'sleep', { timeout: 20 })).toMatchObject({
      stdout: 'so far',
      timedOut: true,
    })
  })

  test('a listener receives the rest of the output at the end, once, and nothing after it', async () => {
    const late: (() => void)[] = []
    const exec = async (_: string, command: string, { onOutput }: SandboxExecOptions) => {
      if (command.endsWith('told')) onOutput?.('out', 'stdout')
      late.push(() => onOutput?.('too late', 'stdout'))
      return { stdout: 'out', stderr: 'err', exitCode: 0 }
    }
    const context = createSandboxContext(provider({ exec }))
    const handle = await context.spawn()
    for (const command of ['told', 'silent']) {
      const heard: string[] = []
      const done = await context.exec(handle, command, { onOutput: (text, from) => heard.push(`${from} ${text}`) })
      for (const speak of late) speak()
      expect(heard).toEqual(['stdout out', 'stderr err'])
      expect(done).toEqual({ stdout: '', stderr: '', exitCode: 0 })
    }
  })

  test('a listener is told of a command that may still be running', async () => {
    const context = createSandboxContext(provider({ exec: never }), { graceMs: 10 })
    const heard: string[] = []
    const options = { timeout: 20, onOutput: (text: string) => heard.push(text) }
    expect(await context.exec(await context.spawn(), 'sleep', options)).toEqual({
      stdout: '',
      stderr: '',
      exitCode: null,
      timedOut: true,
    })
    expect(heard.join('')).toContain('may still be running')
  })

  test('destroy ends the wait for its commands', async () => {
    const context = createSandboxContext(provider({ exec: never }), { graceMs: 10 })
    const handle = await context.spawn()
    const work = context.exec(handle, 'sleep', { timeout: 0 })
    await context.destroy(handle)
    expect(await work).toMatchObject({ exitCode: null })
    await expect(context.exec(handle, 'true')).rejects.toThrow('was destroyed; spawn another one')
    await expect(context.readFile(handle, 'f')).rejects.toThrow('was destroyed')
  })

  test('a sandbox that never starts, or a file verb that never answers, is given up too', async () => {
    const silent = createSandboxContext(provider({ name: 'Acme', spawn: never }), { requestTimeoutMs: 20 })
    await expect(silent.spawn()).rejects.toThrow('The sandbox of Acme could not start: nothing came back within 0.02 s')
    const context = createSandboxContext(provider({ readFile: never }), { requestTimeoutMs: 20 })
    await expect(context.readFile(await context.spawn(), 'f')).rejects.toMatchObject({ code: 'ETIMEDOUT' })
  })

  test('a sandbox that starts after it was given up is destroyed', async () => {
    let start = (_: { id: string }) => {}
    const destroyed: string[] = []
    const slow = provider({
      spawn: () => new Promise((resolve) => (start = resolve)),
      destroy: async (id) => void destroyed.push(id),
    })
    await expect(createSandboxContext(slow, { requestTimeoutMs: 10 }).spawn()).rejects.toThrow('could not start')
    start({ id: 'late' })
    await expect.poll(() => destroyed).toEqual(['late'])
  })
})

describe('what a provider throws becomes an error with words', () => {
  const thrown: [unknown, string][] = [
    ['quota reached', 'quota reached'],
    [{ message: 'no such sandbox', status: 404 }, 'no such sandbox'],
    [{ error: { message: 'rate limited' } }, 'rate limited'],
    [{ status: 503 }, '{"status":503}'],
    [new TypeError(''), 'TypeError'],
    [undefined, 'undefined'],
  ]
  test.each(thrown)('%o', async (value, text) => {
    const fail = async () => Promise.reject(value)
    const context = createSandboxContext(provider({ exec: fail, destroy: fail }))
    const handle = await context.spawn()
    const message = `The sandbox could not run the command: ${text}`
    const error = await context.exec(handle, 'true').catch((reason) => reason)
    expect(error).toBeInstanceOf(Error)
    expect(error.message).toBe(message)
    await expect(context.destroy(handle)).rejects.toThrow(`could not be destroyed: ${text}`)
  })

  test('one that throws instead of rejecting is no different', async () => {
    const exec = () => {
      throw { code: 'EBUSY', message: 'busy' }
    }
    const context = createSandboxContext(provider({ exec }))
    await expect(context.exec(await context.spawn(), 'true')).rejects.toMatchObject({
      message: expect.stringContaining('busy'),
      code: 'EBUSY',
    })
  })

  test('its own word for a time limit is one when the time is up, and an error before', async () => {
    const error = { name: 'TimeoutError', message: 'command timed out' }
    const failing =
      (share: number) =>
      async (_: string, __: string, { timeout }: SandboxExecOptions) => {
        await new Promise((resolve) => setTimeout(resolve, timeout * share))
        throw error
      }
    const punctual = createSandboxContext(provider({ exec: failing(0.95) }))
    const done = await punctual.exec(await punctual.spawn(), 'x', { timeout: 400 })
    expect(done).toEqual({ stdout: '', stderr: '', exitCode: null, timedOut: true })
    const early = createSandboxContext(provider({ exec: failing(0) }))
    await expect(early.exec(await early.spawn(), 'x')).rejects.toThrow('could not run the command: command timed out')
  })
})

test('what failed to be destroyed can be destroyed later, and then no more', async () => {
  const outcomes = [Promise.reject(new Error('busy')), Promise.resolve()]
  outcomes[0]!.catch(() => {})
  let asked = 0
  const context = createSandboxContext(provider({ destroy: () => outcomes[asked++]! }))
  const handle = await context.spawn()
  await expect(context.destroy(handle)).rejects.toThrow('busy')
  await Promise.all([context.destroy(handle), context.destroy(handle)])
  await context.destroy(handle)
  expect(asked).toBe(2)
})

test('a provider gets absolute paths, the whole environment, the limit and a signal', async () => {
  const seen: unknown[] = []
  const context = createSandboxContext(
    provider({
      async exec(...args) {
        seen.push(args)
        return { exitCode: 0 }
      },
      async readFile(id, path) {
        seen.push([id, path])
        return new TextEncoder().encode('bytes')
      },
    }),
  )
  const handle = await context.spawn({ cwd: '/home/user', env: { A: 'a', B: 'b' } })
  expect(handle).toEqual({ id: 's1', type: 'sandbox', cwd: '/home/user' })
  await context.exec(handle, 'make', { cwd: 'sub/../lib', env: { B: 'own' }, input: 'in' })
  expect(await context.readFile(handle, './f.txt')).toBe('bytes')
  const options = { cwd: '/home/user/lib', env: { A: 'a', B: 'own' }, timeout: 30_000, input: 'in' }
  expect(seen).toEqual([
    ['s1', 'make', { ...options, signal: expect.any(AbortSignal), onOutput: expect.any(Function) }],
    ['s1', '/home/user/f.txt'],
  ])
})

test('a provider that cannot feed a command has its input laid down in a file, however long it is', async () => {
  const input = 'größer '.repeat(30_000)
  const processes = createProcessContext({ cwd: scratch })
  const host = await processes.spawn()
  const longest: number[] = []
  const { input: _, ...without } = provider({
    exec(__, command, options) {
      longest.push(command.length)
      return processes.exec(host, command, { ...options, cwd: scratch, input: 'what is there to read otherwise' })
    },
  })
  const context = createSandboxContext(without)
  const done = await context.exec(await context.spawn(), 'cat', { input })
  expect(done).toEqual({ stdout: input, stderr: '', exitCode: 0 })
  expect(Math.max(...longest)).toBeLessThan(100_000)
  expect((await context.exec(await context.spawn(), 'cat; echo ended')).stdout).toBe('ended\n')
  await processes.destroy(host)
})

describe('a provider without a shell', () => {
  const files = new Map<string, string>()
  const noShell = provider({
    capabilities: { shell: false },
    exec: never,
    async readFile(_, path) {
      const content = files.get(path)
      if (content === undefined) throw { message: `404 ${path} not found` }
      return content
    },
    async writeFile(_, path, content) {
      files.set(path, String(content))
    },
    async listFiles() {
      return ['b', 'a/']
    },
  })

  test('has files, and says that it has nothing else', async () => {
    const context = createSandboxContext(noShell)
    expect(context.capabilities).toEqual({ shell: false, filesystem: true, network: true, gpu: false })
    expect([context.stat, context.openFile]).toEqual([undefined, undefined])
    const handle = await context.spawn()
    await context.writeFile(handle, 'f', 'text')
    expect(await context.readFile(handle, '/f')).toBe('text')
    expect(await context.listFiles(handle, '.')).toEqual(['a/', 'b'])
    await expect(context.readFile(handle, 'none')).rejects.toMatchObject({ code: 'ENOENT' })
    await expect(context.exec(handle, 'true')).rejects.toThrow('has no shell')
  })

  test('knows a stale write by the content', async () => {
    const context = createSandboxContext(noShell)
    const handle = await context.spawn()
    await context.writeFile(handle, 'g', 'one', { ifStamp: null })
    await context.writeFile(handle, 'g', 'two', { ifStamp: digestOf('one') })
    await expect(context.writeFile(handle, 'g', 'x', { ifStamp: digestOf('one') })).rejects.toMatchObject({
      code: 'ESTALE',
    })
    await expect(context.writeFile(handle, 'g', 'x', { ifStamp: null })).rejects.toMatchObject({ code: 'ESTALE' })
    expect(await context.readFile(handle, 'g')).toBe('two')
  })
})

test('why a provider failed with a file, its shell tells', async () => {
  const processes = createProcessContext({ cwd: scratch })
  const host = await processes.spawn()
  const fail = async () => Promise.reject({ status: 400 })
  const context = createSandboxContext(
    provider({
      exec: (_, command, options) => processes.exec(host, command, { ...options, cwd: scratch }),
      readFile: fail,
      listFiles: fail,
      writeFile: fail,
    }),
  )
  await writeFile(join(scratch, 'there'), '')
  const handle = await context.spawn({ cwd: scratch })
  await expect(context.readFile(handle, 'none')).rejects.toMatchObject({ code: 'ENOENT' })
  await expect(context.readFile(handle, '.')).rejects.toMatchObject({ code: 'EISDIR' })
  await expect(context.listFiles(handle, 'there')).rejects.toMatchObject({ code: 'ENOTDIR' })
  await expect(context.writeFile(handle, 'new', '')).rejects.toThrow('could not write new: {"status":400}')
  await expect(context.readFile(handle, 'there')).rejects.not.toHaveProperty('code')
  expect(await readFile(join(scratch, 'there'), 'utf8')).toBe('')
  await processes.destroy(host)
})

test('a provider that lacks a verb, or gives no id, is told of', async () => {
  expect(() => createSandboxContext({ ...provider({}), exec: undefined } as never)).toThrow('exec is missing')
  await expect(createSandboxContext(provider({ spawn: async () => ({}) as never })).spawn()).rejects.toThrow(
    'its provider gave no id',
  )
})

function never(): Promise<never> {
  return new Promise(() => {})
}

let spawned = 0
function provider(verbs: Partial<SandboxProvider>): SandboxProvider {
  spawned = 0
  return {
    input: true,
    spawn: async ({ cwd }) => ({ id: `s${++spawned}`, ...(cwd !== undefined && { cwd }) }),
    exec: async () => ({ stdout: '', stderr: '', exitCode: 0 }),
    destroy: async () => {},
    ...verbs,
  }
}
