import { appendFileSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporary } from '../../../test/temporary.ts'
import { fakeClock } from '../../testing/fake-clock.ts'
import { openHistory } from './history.ts'

const fresh = async (): Promise<string> => join(await temporary('history-'), 'new', 'history.jsonl')

test('UI12 prompts of all sessions are recalled, those of this folder first, each once', async () => {
  const file = await fresh()
  const here = openHistory({ file, folder: '/here', clock: fakeClock() })
  const there = openHistory({ file, folder: '/there', clock: fakeClock() })
  here.add('one')
  there.add('two')
  here.add('three\nlines')
  there.add('one')
  expect(here.recent()).toEqual(['three\nlines', 'one', 'two'])
  expect(there.recent()).toEqual(['one', 'two', 'three\nlines'])
  expect(openHistory({ file, folder: '/new' }).recent()).toEqual(['one', 'three\nlines', 'two'])
  expect(statSync(file).mode & 0o777).toBe(0o600)
})

test('a text that was cleared is kept as a draft; blanks and repetitions are not', async () => {
  const file = await fresh()
  const history = openHistory({ file, folder: '/here', clock: fakeClock() })
  history.add('unsent', 'draft')
  history.add('unsent')
  history.add('  \n')
  expect(history.recent()).toEqual(['unsent'])
  expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ text: 'unsent', folder: '/here', isDraft: true })
})

test('UI13 a search finds what contains the words, newest first, then what has their letters', async () => {
  const history = openHistory({ file: await fresh(), folder: '/here', clock: fakeClock() })
  for (const text of ['fix the test', 'find in the east', 'Test again', 'other']) history.add(text)
  expect(history.search('test')).toEqual(['Test again', 'fix the test', 'find in the east'])
  expect(history.search('fte')).toEqual(expect.arrayContaining(['fix the test', 'find in the east']))
  expect(history.search('')[0]).toBe('other')
  expect(history.search('zzz')).toEqual([])
})

test('broken lines are skipped, and a line that was cut off does not take the next one with it', async () => {
  const file = await fresh()
  const history = openHistory({ file, folder: '/here', clock: fakeClock() })
  history.add('first')
  appendFileSync(file, '[]\n{"text":1}\n{"text":"cut o')
  history.add('second')
  expect(history.recent()).toEqual(['second', 'first'])
})

test('the files stay below 2 MB and hold the newest entries', async () => {
  const file = await fresh()
  const history = openHistory({ file, folder: '/here', clock: fakeClock() })
  for (let i = 0; i < 40; i++) {
    history.add(`${i} ${'x'.repeat(100_000)}`)
    await history.settled()
  }
  expect(statSync(file).size).toBeLessThan(1.2 * 1024 * 1024)
  expect(statSync(`${file}.1`).size).toBeLessThan(1.2 * 1024 * 1024)
  expect(history.recent()[0]).toMatch(/^39 /)
  expect(history.recent().length).toBeGreaterThan(9)
  history.add('é'.repeat(1_000_000))
  expect(Buffer.byteLength(history.recent()[0]!)).toBe(256 * 1024)
})

test('a history that cannot be written is reported, and prompts can still be sent', async () => {
  const problems: unknown[] = []
  const file = await fresh()
  writeFileSync(join(file, '..', '..', 'new'), 'a file where a folder should be')
  const history = openHistory({ file, folder: '/here', onProblem: (error) => problems.push(error) })
  history.add('text')
  expect(history.recent()).toEqual([])
  expect(problems).toHaveLength(1)
})
