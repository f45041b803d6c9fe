import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { afterEach, describe, expect, test } from 'vitest'
import { createShellReader, type ShellReader } from './shell-reader.ts'

const readers: ShellReader[] = []
const newReader = (options: Parameters<typeof createShellReader>[0] = {}): ShellReader => {
  // A busy machine is not what is tested here.
  readers.push(createShellReader({ timeoutMs: 15_000, ...options }))
  return readers.at(-1)!
}
afterEach(() => Promise.all(readers.splice(0).map((reader) => reader.close())))

describe('a reader of shell lines', () => {
  test('gives what a line says', async () => {
    expect(await newReader().read('cd src && ls')).toMatchObject({
      isWhole: true,
      obstacles: [],
      commands: [
        { words: ['cd', 'src'], cwd: '.' },
        { words: ['ls'], cwd: 'src' },
      ],
    })
  })

  test('reads a line once, also while it is being read, and forgets those not asked for', async () => {
    const reader = newReader({ maxCached: 2 })
    const first = reader.read('ls 1')
    expect(reader.read('ls 1')).toBe(first)
    await first
    reader.read('ls 2')
    expect(reader.read('ls 1')).toBe(first)
    reader.read('ls 3')
    expect(reader.read('ls 1')).toBe(first)
    reader.read('ls 4')
    await reader.read('ls 5')
    expect(reader.read('ls 1')).not.toBe(first)
  })

  test('a line that takes too long is not whole, gives its words, and does not stop the next', async () => {
    const reader = newReader({ timeoutMs: 1 })
    const slow = `curl x; ${'$('.repeat(4000)}`
    const reading = await reader.read(slow)
    expect(reading).toMatchObject({ isWhole: false, obstacles: ['a line that takes longer than 1 ms to read'] })
    expect(reading.words).toContain('curl')
    expect(await newReader().read('ls')).toMatchObject({ isWhole: true })
  })

  test('once closed it reads nothing more; others go on', async () => {
    const [one, other] = [newReader(), newReader()]
    await Promise.all([one.read('ls'), other.read('ls')])
    await one.close()
    await one.close()
    await expect(one.read('ls -l')).rejects.toThrow('closed')
    expect(await other.read('ls -l')).toMatchObject({ isWhole: true })
  })
})

describe('SH-58 hostile lines are worked on off the event loop', () => {
  test.each([
    ['a megabyte of commands', `${'true && '.repeat(131_072)}curl x`, 'curl'],
    ['a megabyte of different words', Array.from({ length: 140_000 }, (_, i) => `w${i}`).join(' '), 'w139999'],
    ['20,000 nested substitutions', `${'$('.repeat(20_000)}curl`, 'curl'],
    ['5,000 here-documents', Array.from({ length: 5000 }, (_, i) => `curl${i} <<E${i}\nE${i}\n`).join(''), 'curl4999'],
    ['8 KB of nested substitutions', `${'$('.repeat(4080)}curl`, 'curl'],
  ])('%s', async (name, text, word) => {
    const reader = newReader()
    await reader.read('ls')
    const [here, all] = [process.threadCpuUsage(), process.cpuUsage()]
    const reading = await reader.read(text)
    const [ofThisThread, ofAll] = [sum(process.threadCpuUsage(here)), sum(process.cpuUsage(all))]
    expect(reading.isWhole).toBe(false)
    expect(reading.words).toContain(word)
    // The work was done by another thread. How long it takes is this machine's affair.
    console.info(`${name}: ${ofThisThread} of ${ofAll} µs in this thread`)
    expect(ofThisThread).toBeLessThan(Math.max(ofAll, 20_000) / 2)
  })
})

describe('in a process of its own', () => {
  const use = `
    import { registerHooks } from 'node:module'
    const loaded = []
    registerHooks({ load: (url, context, next) => (loaded.push(url), next(url, context)) })
    const { createShellReader } = await import('${new URL('shell-reader.ts', import.meta.url).href}')
    const before = loaded.some((url) => url.includes('worker_threads'))
    const { commands } = await createShellReader({ timeoutMs: 15000 }).read('sudo curl "x y"')
    const parser = loaded.some((url) => url.includes('/unbash/'))
    console.log(JSON.stringify({ before, parser, words: commands.map(({ words }) => words) }))`
  const said = {
    before: false,
    parser: false,
    words: [
      ['sudo', 'curl', 'x y'],
      ['curl', 'x y'],
    ],
  }

  test('the parser is never loaded on the event loop, and an open reader does not keep the process alive', async () => {
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', use], {
      timeout: 15_000,
    })
    expect(JSON.parse(stdout)).toEqual(said)
  })
})

const sum = ({ user, system }: NodeJS.CpuUsage): number => user + system
