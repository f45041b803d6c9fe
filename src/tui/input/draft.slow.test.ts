import { spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporary } from '../../../test/temporary.ts'
import { fakeClock } from '../../testing/fake-clock.ts'
import { openDraft } from './draft.ts'

const fresh = async (): Promise<string> => join(await temporary('draft-'), 'drafts')
const child = join(import.meta.dirname, '../../../test/tui/draft-child.ts')
const filesIn = (directory: string): string[] => (existsSync(directory) ? readdirSync(directory) : [])

/** Starts a process with a draft. Resolves with what it restored, and a function that ends it. */
async function start(...args: string[]) {
  const writer = spawn(process.execPath, ['--conditions=libero-source', child, ...args])
  const ended = new Promise((resolve) => writer.once('close', resolve))
  const restored = await new Promise<string>((resolve) => writer.stdout.once('data', (data) => resolve(String(data))))
  const kill = async (): Promise<void> => {
    writer.kill('SIGKILL')
    await ended
  }
  return { restored: JSON.parse(restored), kill, ended }
}

async function until(isDone: () => boolean): Promise<void> {
  while (!isDone()) await new Promise((resolve) => setTimeout(resolve, 10))
}
const isWritten = (directory: string, text: string) => () =>
  filesIn(directory).some(
    (name) => name.endsWith('.json') && readFileSync(join(directory, name), 'utf8').includes(text),
  )

test('UI14 a draft survives kill -9 and a crash, and a terminal that still runs keeps its own', async () => {
  const directory = await fresh()
  const first = await start(directory, '/work', 'from the first')
  await until(isWritten(directory, 'from the first'))
  const second = await start(directory, '/work', 'from the second')
  await until(isWritten(directory, 'from the second'))
  expect([first.restored, second.restored]).toEqual([null, null])
  await first.kill()
  const here = openDraft({ directory, folder: '/work' })
  expect(here.restored).toEqual(['from the first', { kind: 'paste', text: 'long '.repeat(50_000) }])
  expect(openDraft({ directory, folder: '/elsewhere' }).restored).toBeUndefined()
  await second.kill()
  const crashed = await start(directory, '/work', 'from the third', 'crash')
  await crashed.ended
  expect(crashed.restored).toBe('from the second')
  const again = openDraft({ directory, folder: '/work' })
  expect(again.restored?.[0]).toBe('from the third')
  for (const draft of [here, again]) draft.save([])
  expect(filesIn(directory)).toEqual([])
  for (const draft of [here, again]) draft.close()
})

test('UI15 a draft is written within half a second of the last key, and removed when it is sent', async () => {
  const directory = await fresh()
  const clock = fakeClock()
  const draft = openDraft({ directory, folder: '/work', clock })
  draft.save(['a'])
  draft.save(['ab'])
  expect(filesIn(directory)).toEqual([])
  await clock.advance(499)
  expect(isWritten(directory, '"ab"')()).toBe(true)
  const [name] = filesIn(directory)
  expect(statSync(join(directory, name!)).mode & 0o777).toBe(0o600)
  draft.save(['abc'])
  draft.flush()
  expect(isWritten(directory, '"abc"')()).toBe(true)
  draft.save([])
  expect([filesIn(directory), clock.pending]).toEqual([[], 0])
  draft.close()
})

test('a draft of the session comes before one of the folder; broken and old files are no drafts', async () => {
  const directory = await fresh()
  const dead = { pid: 2 ** 30, host: 'other', boot: 'other', namespace: '', started: '1' }
  const mine = openDraft({ directory, folder: '/work' })
  mine.save(['x'])
  mine.flush()
  const [name] = filesIn(directory)
  const { owner } = JSON.parse(readFileSync(join(directory, name!), 'utf8'))
  const put = (file: string, more: object): void =>
    writeFileSync(join(directory, file), JSON.stringify({ owner: { ...owner, pid: dead.pid }, ...more }))
  put('a.json', { folder: '/work', pieces: ['of the folder'] })
  put('b.json', { folder: '/other', sessionId: 's1', pieces: ['of the session', { stored: '../../etc/passwd' }] })
  writeFileSync(join(directory, 'c.json'), '{')
  const drafts = [1, 2, 3].map(() => openDraft({ directory, folder: '/work', sessionId: 's1' }))
  expect(drafts.map(({ restored }) => restored)).toEqual([['of the session'], ['of the folder'], undefined])
  for (const draft of [mine, ...drafts]) draft.close()
})

test('a draft that cannot be stored is reported once', async () => {
  const directory = await fresh()
  writeFileSync(directory, 'a file')
  const problems: unknown[] = []
  const draft = openDraft({ directory, folder: '/work', onProblem: (error) => problems.push(error) })
  for (const text of ['a', 'b']) {
    draft.save([text])
    draft.flush()
  }
  expect(problems).toHaveLength(1)
  draft.close()
})
