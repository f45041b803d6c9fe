import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect } from 'vitest'
import { rounds, testInTurns } from '../../test/soak.ts'
import { type FakeClock, fakeClock } from '../testing/fake-clock.ts'
import { LockTimeoutError, newMark, withLock } from './lock.ts'

// Most of them wait for locks or start processes.
const test = testInTurns(3)

let folder: string
let path: string
let children: ChildProcess[]

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'libero-lock-'))
  path = join(folder, 'the.lock')
  children = []
})

afterEach(async () => {
  for (const child of children) child.kill('SIGKILL')
  await rm(folder, { recursive: true, force: true })
})

describe('among processes', { timeout: 60_000 }, () => {
  const processes = rounds(6, 20)
  test(`${processes} processes that count to 10 each under the lock count to ${10 * processes}`, async () => {
    const counter = join(folder, 'counter')
    await writeFile(counter, '0')
    const code = `
      for (let i = 0; i < 10; i++)
        await withLock(path, async () => {
          const count = Number(await readFile(counter, 'utf8'))
          await new Promise((resolve) => setTimeout(resolve, 1))
          await writeFile(counter, String(count + 1))
        }, { waitMs: 50_000 })`
    const exits = Array.from({ length: processes }, () => once(start(code, { counter }), 'exit'))
    expect(await Promise.all(exits)).toEqual(Array(processes).fill([0, null]))
    expect(await readFile(counter, 'utf8')).toBe(String(10 * processes))
    expect(await readdir(folder)).toEqual(['counter'])
  })

  test('a killed holder does not block others', async () => {
    await killHolder()
    expect(await readdir(folder)).toEqual(['the.lock'])
    expect(await exclusively(10)).toBe(10)
    expect(await readdir(folder)).toEqual([])
  })

  test('of many who find a dead lock only one at a time gets in', async () => {
    await killHolder()
    const dead = await readFile(path)
    for (let round = 0; round < rounds(5, 20); round++) {
      await writeFile(path, dead)
      expect(await exclusively(8)).toBe(8)
    }
  })

  test('guards that dead processes left behind are removed, and still only one at a time gets in', async () => {
    await killHolder()
    const dead = await readFile(path)
    for (let round = 0; round < rounds(5, 20); round++) {
      for (const file of [path, `${path}.guard`, `${path}.guard.guard`]) await writeFile(file, dead)
      expect(await exclusively(8)).toBe(8)
      expect(await readdir(folder)).toEqual([])
    }
  })

  test('a lock always names its holder, so a holder killed at any moment does not block others', async () => {
    const endless = `for (;;) await withLock(path, async () => {}, { waitMs: 50_000 })`
    const holders = [1, 2, 3].map(() => start(endless))
    const looks = rounds(100, 500)
    let seen = 0
    for (let i = 0; i < 1e6 && seen < looks; i++) {
      const text = await readFile(path, 'utf8').catch(() => undefined)
      if (text === undefined) continue
      seen++
      expect(text).toMatch(/^{"pid":\d+,.*}$/)
    }
    expect(seen).toBe(looks)
    for (const holder of holders) {
      holder.kill('SIGKILL')
      await once(holder, 'exit')
    }
    expect(await exclusively(3)).toBe(3)
  })

  /** Leaves the lock of a process that is no more. */
  async function killHolder(): Promise<void> {
    const holder = start(
      `await withLock(path, () => { console.log('held'); return new Promise((r) => setTimeout(r, 1e6)) })`,
    )
    await once(holder.stdout!, 'data')
    holder.kill('SIGKILL')
    await once(holder, 'exit')
  }
})

test('callers in one process take turns, and the outcome of the work is passed on', async () => {
  expect(await exclusively(10)).toBe(10)
  await expect(withLock(path, () => Promise.reject(new Error('work failed')))).rejects.toThrow('work failed')
  expect(await withLock(path, async () => 42)).toBe(42)
  expect(await readdir(folder)).toEqual([])
})

test('the folder of the lock is made, and a folder that cannot be made is named', async () => {
  expect(await withLock(join(folder, 'new', 'the.lock'), async () => 1)).toBe(1)
  await writeFile(join(folder, 'file'), '')
  await expect(withLock(join(folder, 'file', 'the.lock'), async () => 1)).rejects.toThrow(
    /Cannot create the lock file .*the\.lock: .*; check that the folder is writable/,
  )
})

test('a lock that a living process holds is waited for, and the error names the holder', async () => {
  const clock = fakeClock(Date.parse('2026-01-01'))
  await plant(await newMark(clock), clock.now())
  const waiting = withLock(path, async () => 'got it', { clock }).catch((error: unknown) => error)
  const error = await turning(clock, waiting)
  expect(error).toBeInstanceOf(LockTimeoutError)
  expect(String(error)).toContain(`held by process ${process.pid} on ${hostname()}`)
  expect(String(error)).toContain('since 2026-01-01T00:00:00.000Z; try again')
  expect(clock.pending).toBe(0)
})

describe('a lock of another machine', () => {
  const elsewhere = JSON.stringify({ pid: 1, host: 'elsewhere', owner: 'x', since: 'then' })

  test.each([elsewhere, '', 'no mark at all'])(
    'is taken over when it has been silent for too long: %j',
    async (mark) => {
      const clock = fakeClock(1e12)
      await plant(mark, clock.now() - 30_001)
      expect(
        await turning(
          clock,
          withLock(path, async () => 'got it', { clock }),
        ),
      ).toBe('got it')
      expect(await readdir(folder)).toEqual([])
    },
  )

  test('is taken over also when it comes from the future', async () => {
    const clock = fakeClock(1e12)
    await plant(elsewhere, clock.now() + 1e9)
    expect(
      await turning(
        clock,
        withLock(path, async () => 'got it', { clock }),
      ),
    ).toBe('got it')
  })

  test('is respected as long as it is fresh', async () => {
    const clock = fakeClock(1e12)
    await plant(elsewhere, clock.now() - 5_000)
    const waiting = withLock(path, async () => 'got it', { clock }).catch((error: unknown) => error)
    expect(await turning(clock, waiting)).toBeInstanceOf(LockTimeoutError)
  })

  test('is respected when it looks old but its holder still gives signs, as after the machine slept', async () => {
    const clock = fakeClock(1e12)
    const old = (): Promise<void> => plant(elsewhere, clock.now() - 60_000)
    await old()
    const waiting = withLock(path, async () => 'got it', { clock }).catch((error: unknown) => error)
    expect(await turning(clock, waiting, old)).toBeInstanceOf(LockTimeoutError)
  })
})

test('a holder gives signs of life for as long as it works', async () => {
  const clock = fakeClock(1e12)
  const work = Promise.withResolvers<void>()
  const isIn = Promise.withResolvers<void>()
  const working = withLock(
    path,
    () => {
      isIn.resolve()
      return work.promise
    },
    { clock },
  )
  await isIn.promise
  for (let i = 0; i < 10; i++) await clock.advance(30_000)
  await expect.poll(async () => clock.now() - (await stat(path)).mtimeMs).toBeLessThan(30_000)
  work.resolve()
  await working
  expect(clock.pending).toBe(0)
})

test('a holder that was taken over leaves the lock of its successor alone', async () => {
  await withLock(path, async () => {
    await rm(path)
    await writeFile(path, 'of the successor')
  })
  expect(await readFile(path, 'utf8')).toBe('of the successor')
  expect(await readdir(folder)).toEqual(['the.lock'])
})

/** A lock file of another process. */
async function plant(mark: string, mtimeMs: number): Promise<void> {
  await writeFile(path, mark)
  await utimes(path, mtimeMs / 1000, mtimeMs / 1000)
}

/** How many got in, each alone. */
async function exclusively(callers: number): Promise<number> {
  let inside = 0
  let done = 0
  const enter = async (): Promise<void> => {
    expect(++inside).toBe(1)
    await new Promise((resolve) => setTimeout(resolve, 1))
    inside--
    done++
  }
  await Promise.all(Array.from({ length: callers }, () => withLock(path, enter, { waitMs: 15_000 })))
  return done
}

function start(code: string, values: Record<string, string> = {}): ChildProcess {
  const lock = new URL('lock.ts', import.meta.url).href
  const constants = Object.entries({ path, ...values }).map(
    ([name, value]) => `const ${name} = ${JSON.stringify(value)}`,
  )
  const script = `
    import { readFile, writeFile } from 'node:fs/promises'
    import { withLock } from ${JSON.stringify(lock)}
    ${constants.join('\n')}
    ${code}`
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  children.push(child)
  return child
}

/** Turns the clock until the promise settles; files take their own time. */
async function turning<T>(clock: FakeClock, promise: Promise<T>, everyTurn = async () => {}): Promise<T> {
  let isSettled = false
  void promise.finally(() => (isSettled = true)).catch(() => {})
  for (let i = 0; i < 5_000 && !isSettled; i++) {
    await everyTurn()
    await clock.advance(200)
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
  return promise
}
