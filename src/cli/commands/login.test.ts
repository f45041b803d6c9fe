import { mkdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { beforeEach, describe, expect, test } from 'vitest'
import { type FakeIo, fakeIo } from '../../../test/cli/fake-io.ts'
import { command } from './login.ts'
import { command as logout } from './logout.ts'

let io: FakeIo
let stdin: PassThrough
beforeEach(() => {
  stdin = new PassThrough()
  io = fakeIo({ stdin })
})

const key = 'sk-test-0123456789abcdef'
const run = (words: string[], values = {}): Promise<number> => command.run!({ words, values }, io)
const forget = (words: string[], values = {}): Promise<number> => logout.run!({ words, values }, io)
const stored = async (): Promise<unknown> =>
  JSON.parse(await readFile(join(io.home, 'credentials.json'), 'utf8').catch(() => '{}'))

function pipe(text: string): void {
  stdin.end(text)
}

describe('a key from stdin', () => {
  test('is stored readable only by its owner, and never shown', async () => {
    pipe(`${key}\n`)
    expect(await run(['groq'], { 'key-stdin': true })).toBe(0)
    expect(await stored()).toEqual({ groq: { type: 'api_key', key } })
    if (process.platform !== 'win32') expect((await stat(join(io.home, 'credentials.json'))).mode & 0o777).toBe(0o600)
    expect(io.said.err).toContain('stored for groq in ')
    expect(io.said.err + io.said.out).not.toContain(key)
  })

  test.each([
    ['a blank', `${key} ${key}`, 'no blanks or line breaks'],
    ['a line break', `${key}\n${key}`, 'no blanks or line breaks'],
    ['a control character', `${key}\u001b[2J`, 'characters that keys do not have'],
    ['nothing', ' \n', '--key-stdin found nothing on stdin'],
    ['a book', 'x'.repeat(9000), 'the key is too long (9000 characters)'],
  ])('with %s in it is refused without being shown, and nothing is stored', async (_, text, words) => {
    pipe(text)
    const failing = run(['groq'], { 'key-stdin': true })
    await expect(failing).rejects.toMatchObject({ exitCode: 2, message: expect.stringContaining(words) })
    await expect(failing).rejects.not.toThrow(key)
    expect(await stored()).toEqual({})
  })

  test('can be for the provider of --openai or --anthropic', async () => {
    pipe(key)
    await run([], { 'key-stdin': true, anthropic: true })
    expect(await stored()).toHaveProperty('anthropic')
    await expect(run(['groq'], { openai: true })).rejects.toThrow('one provider at a time')
  })

  test('is stored with a notice if an environment variable takes precedence', async () => {
    io.env.GROQ_API_KEY = 'other'
    pipe(key)
    await run(['groq'], { 'key-stdin': true })
    expect(io.said.err).toContain('GROQ_API_KEY is set and takes precedence')
  })
})

describe('a key as an argument', () => {
  test.each([[['openai', key]], [[key]], [['AIzaSyA-0123456789']]])(
    'is refused and not repeated: %#',
    async (words) => {
      const failing = run(words)
      await expect(failing).rejects.toThrow('a key must not be an argument')
      for (const word of words.filter((one) => one !== 'openai')) await expect(failing).rejects.not.toThrow(word)
      expect(await stored()).toEqual({})
    },
  )
})

test('without a terminal, the error says how to pipe a key in', async () => {
  await expect(run(['openai'])).rejects.toMatchObject({
    exitCode: 2,
    message: expect.stringContaining('libero login openai --key-stdin < key.txt'),
  })
  await expect(run([])).rejects.toThrow('login needs a provider, one of anthropic, openai')
  await expect(run(['opnai'])).rejects.toThrow('did you mean openai?')
  await expect(run(['offline'])).rejects.toThrow('offline needs no key')
  await expect(run(['groq'], { browser: true })).rejects.toThrow('--browser works for openai only')
})

describe('--check', () => {
  const asked: { address: string; headers: Headers }[] = []
  beforeEach(() => {
    asked.length = 0
  })
  const answering = (status: number): typeof fetch => {
    return async (address, init) => {
      asked.push({ address: String(address), headers: new Headers(init?.headers) })
      return new Response('{}', { status })
    }
  }

  test.each([
    ['openai', 'https://api.openai.com/v1/models', 'authorization', `Bearer ${key}`],
    ['anthropic', 'https://api.anthropic.com/v1/models?limit=1', 'x-api-key', key],
    ['google', 'https://generativelanguage.googleapis.com/v1beta/models?pageSize=1', 'x-goog-api-key', key],
    ['openrouter', 'https://openrouter.ai/api/v1/key', 'authorization', `Bearer ${key}`],
  ])('requests the models of %s, and stores the key if it answers', async (provider, address, header, value) => {
    io.fetch = answering(200)
    pipe(key)
    await run([provider], { 'key-stdin': true, check: true })
    expect(asked.map((request) => [request.address, request.headers.get(header)])).toEqual([[address, value]])
    expect(await stored()).toHaveProperty(provider)
  })

  test.each([
    [401, 'groq does not accept this key (HTTP 401), and nothing was stored'],
    [500, 'groq could not check the key (HTTP 500), and nothing was stored'],
  ])('stores nothing when the answer is %i', async (status, words) => {
    io.fetch = answering(status)
    pipe(key)
    await expect(run(['groq'], { 'key-stdin': true, check: true })).rejects.toThrow(words)
    expect(await stored()).toEqual({})
  })

  test('stores nothing when there is no network', async () => {
    io.fetch = async () => {
      throw new TypeError('fetch failed', { cause: Object.assign(new Error('x'), { code: 'ENOTFOUND' }) })
    }
    pipe(key)
    await expect(run(['groq'], { 'key-stdin': true, check: true })).rejects.toThrow(
      '(ENOTFOUND), and nothing was stored: check the network',
    )
  })
})

describe('at a terminal', () => {
  beforeEach(() => {
    Object.assign(stdin, { isTTY: true, setRawMode: () => {} })
    Object.assign(io.stderr, { isTTY: true, columns: 80, rows: 24 })
  })

  test('the provider is chosen from a list, and the key is not shown while it is typed', async () => {
    const running = run([])
    await expect.poll(() => io.said.err).toContain('which provider?')
    expect(io.said.err).toContain('  1  anthropic')
    stdin.write('2\r')
    await expect.poll(() => io.said.err).toContain('the key of openai')
    await expect.poll(() => io.said.err).toContain('what you type is not shown')
    stdin.write(`${key}\r`)
    expect(await running).toBe(0)
    expect(await stored()).toEqual({ openai: { type: 'api_key', key } })
    expect(io.said.err + io.said.out).not.toContain('0123456789abcdef')
  })

  test.each([
    ['Esc', '\u001b', 'no key was given, and nothing was stored'],
    ['Ctrl-C', '\u0003', 'the login was stopped, and nothing was stored'],
  ])('%s stores nothing', async (_, pressed, message) => {
    const running = run(['openai'])
    running.catch(() => {})
    await expect.poll(() => io.said.err).toContain('what you type is not shown')
    stdin.write(pressed)
    await expect(running).rejects.toMatchObject({ exitCode: 130, message })
    expect(await stored()).toEqual({})
  })
})

test('the list shows names, kinds and expiry dates, and no secret', async () => {
  await mkdir(io.home)
  const credentials = {
    groq: { type: 'api_key', key },
    openai: { type: 'oauth', access: 'secret-access', refresh: 'secret-refresh', expires: Date.UTC(2020, 0, 1) },
    'x\u001b[2J': { type: 'api_key', key },
  }
  await writeFile(join(io.home, 'credentials.json'), JSON.stringify(credentials))
  expect(await run([], { list: true })).toBe(0)
  expect(io.said.out).toBe('groq  key\nopenai  login, expired 2020-01-01T00:00:00.000Z\nx␛[2J  key\n')
})

describe('logout', () => {
  beforeEach(async () => {
    await mkdir(io.home)
    await writeFile(
      join(io.home, 'credentials.json'),
      JSON.stringify({ groq: { type: 'api_key', key }, xai: { type: 'api_key', key } }),
    )
  })

  test('deletes one, and names an environment variable that still has a key', async () => {
    io.env.GROQ_API_KEY = 'k'
    expect(await forget(['groq'])).toBe(0)
    expect(await stored()).toEqual({ xai: { type: 'api_key', key } })
    expect(io.said.err).toBe('deleted what was stored for groq\nGROQ_API_KEY is still set in the environment\n')
    expect(await forget([])).toBe(0)
    expect(await stored()).toEqual({})
    await expect(forget([])).rejects.toThrow('nothing is stored')
  })

  test('asks which one if there are several, and deletes all only with --all', async () => {
    await expect(forget([])).rejects.toThrow('which one? Stored are groq, xai; name it, or add --all')
    await expect(forget(['openai'])).rejects.toThrow('nothing is stored for openai; stored are: groq, xai')
    await forget([], { all: true })
    expect(await stored()).toEqual({})
  })
})
