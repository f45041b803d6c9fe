import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, afterEach, expect, test } from 'vitest'
import { JobFailed, JobTimeout, type PersistentWorker, persistentWorker } from './worker-threads.ts'

const folder = mkdtempSync(join(tmpdir(), 'libero-worker-threads-'))
const source = new URL('worker-threads.ts', import.meta.url).href
const file = join(folder, 'worker.mjs')
const url = pathToFileURL(file)
writeFileSync(
  file,
  `import { answerJobs } from '${source}'
  import { threadId } from 'node:worker_threads'
  answerJobs(async (job) => {
    if (job === 'hang') for (;;);
    if (job === 'throw') throw new Error('no such sum')
    if (job === 'die') process.exit(3)
    if (job === 'die later') setTimeout(() => process.exit(3), 1)
    if (job === 'thread') return threadId
    if (job.wait) await new Promise((resolve) => setTimeout(resolve, job.wait))
    return job.a + job.b
  })`,
)
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const long = 15_000
const workers: PersistentWorker[] = []
const sums = (): PersistentWorker => {
  workers.push(persistentWorker(() => url, 'sums'))
  return workers.at(-1)!
}
afterEach(() => Promise.all(workers.splice(0).map((worker) => worker.close())))

test('jobs are answered in order, by one thread', async () => {
  const worker = sums()
  const done: number[] = []
  const jobs = [20, 0, 5].map((wait, i) =>
    worker.ask({ a: i, b: 1, wait }, long).then((sum) => done.push(sum as number)),
  )
  await Promise.all(jobs)
  expect(done).toEqual([1, 2, 3])
  expect(await worker.ask('thread', long)).toBe(await worker.ask('thread', long))
})

test('a job that takes too long is ended with its thread, and the next has a new one', async () => {
  const worker = sums()
  const first = await worker.ask('thread', long)
  const hung = worker.ask('hang', 50)
  const next = worker.ask('thread', long)
  await expect(hung).rejects.toThrow(JobTimeout)
  expect(await next).not.toBe(first)
})

test('work that throws costs nothing but its job', async () => {
  const worker = sums()
  const first = await worker.ask('thread', long)
  await expect(worker.ask('throw', long)).rejects.toThrow(new JobFailed('no such sum'))
  expect(await worker.ask('thread', long)).toBe(first)
})

test('a thread that dies, during a job or between two, is replaced', async () => {
  const worker = sums()
  await expect(worker.ask('die', long)).rejects.toThrow('ended without an answer')
  expect(await worker.ask({ a: 1, b: 1 }, long)).toBe(2)
  await worker.ask({ a: 1, b: 1 }, long)
  await expect(worker.ask('die later', long)).resolves.toBeDefined()
  await new Promise((resolve) => setTimeout(resolve, 200))
  expect(await worker.ask({ a: 2, b: 1 }, long)).toBe(3)
})

test('once closed it refuses, also what was waiting', async () => {
  const worker = sums()
  const running = worker.ask('hang', long)
  const waiting = worker.ask({ a: 1, b: 1 }, long)
  const refused = Promise.allSettled([running, waiting])
  await worker.close()
  expect((await refused).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  await expect(worker.ask({ a: 1, b: 1 }, long)).rejects.toThrow('closed')
})

test('a module that cannot be loaded is an error, each time', async () => {
  const worker = persistentWorker(() => pathToFileURL(join(folder, 'missing.mjs')), 'sums')
  workers.push(worker)
  await expect(worker.ask('x', long)).rejects.toThrow('missing.mjs')
  await expect(worker.ask('x', long)).rejects.toThrow('missing.mjs')
})

test('an idle thread does not keep the process alive, a busy one does', async () => {
  const script = `import { persistentWorker } from '${source}'
    const worker = persistentWorker(() => new URL('${url.href}'), 'sums')
    worker.ask({ a: 1, b: 2, wait: 100 }, 10000).then((sum) => console.log(sum))`
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], {
    timeout: long,
  })
  expect(stdout).toBe('3\n')
})
