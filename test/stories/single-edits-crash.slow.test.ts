import { execFile } from 'node:child_process'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'vitest'
import { compileCache } from '../compile-cache.ts'
import { testInTurns } from '../soak.ts'
import { temporary } from '../temporary.ts'

// Each of them starts processes.
const test = testInTurns(2)

const child = new URL('./single-edits-child.ts', import.meta.url).pathname

/** What a process of its own said before it ended, or the signal that ended it. */
function inProcess(folder: string, phase: string, extent = 'some'): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const env = { ...process.env, ...compileCache }
    execFile(process.execPath, [child, folder, phase, extent], { timeout: 30_000, env }, (error, stdout, stderr) => {
      if (error && !error.signal) reject(new Error(stderr))
      else resolve(error ? error.signal : JSON.parse(stdout))
    })
  })
}

async function project() {
  const folder = await temporary('single-edits-')
  const file = join(folder, 'work', 'a.txt')
  await mkdir(join(folder, 'work'))
  await writeFile(file, 'one\ntwo\nthree\n')
  return { folder, file, content: () => readFile(file, 'utf8') }
}

test.each([
  ['after the answer, before the call begins', 'answered', 'one\ntwo\nthree\n'],
  ['after the file was written, before the result is logged', 'written', '1\ntwo\n3\n'],
])('HK06 a process that dies %s: the denied edit is not made, and the model reads that', async (_, phase, left) => {
  const { folder, content } = await project()
  expect(await inProcess(folder, phase)).toBe('SIGKILL')
  expect(await content()).toBe(left)
  const result = [
    'Edited a.txt: 2/3 applied · 1 denied',
    'edit #1: applied',
    'edit #2: denied: keep it',
    'edit #3: applied',
  ]
  expect(await inProcess(folder, 'resumed')).toEqual({ status: 'completed', results: [result.join('\n')] })
  expect(await content()).toBe('1\ntwo\n3\n')
})

test('HK06 an approved change that was made before its process died is reported as made, and not asked about again', async () => {
  const { folder, content } = await project()
  expect(await inProcess(folder, 'written', 'all')).toBe('SIGKILL')
  const results = ['Edited a.txt (an earlier attempt of this call had already done it)']
  expect(await inProcess(folder, 'resumed')).toEqual({ status: 'completed', results })
  expect(await content()).toBe('1\n2\n3\n')
})

test('HK06 if the file was changed again meanwhile, the model reads that the change may have been made', async () => {
  const { folder, file } = await project()
  expect(await inProcess(folder, 'written')).toBe('SIGKILL')
  await writeFile(file, 'other\n')
  expect(await inProcess(folder, 'resumed')).toEqual({
    status: 'completed',
    results: [expect.stringContaining('its change may have been made then. Read the file')],
  })
})
