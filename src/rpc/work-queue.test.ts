import { expect, test } from 'vitest'
import { type Work, WorkQueue } from './work-queue.ts'

class Script {
  readonly ran: string[] = []
  readonly #ends = new Map<string, () => void>()

  work(name: string, more: Partial<Work> = {}): Work {
    const run: Work['run'] = ({ isAborted }) => {
      this.ran.push(isAborted ? `${name} aborted` : name)
      return new Promise((end) => this.#ends.set(name, end))
    }
    return { size: 1, run, ...more }
  }

  async end(...names: string[]): Promise<void> {
    for (const name of names) {
      await turns()
      this.#ends.get(name)!()
    }
    await turns()
  }
}

const turns = () => new Promise((go) => setImmediate(go))

test('work runs one after the other, and addNext puts work right behind the current one', async () => {
  const [queue, script] = [new WorkQueue(), new Script()]
  queue.add(script.work('a'))
  queue.add(script.work('b'))
  await turns()
  expect([script.ran, queue.isBusy, queue.isIdle]).toEqual([['a'], true, false])
  queue.addNext(script.work('next', { isInternal: true }))
  await script.end('a', 'next', 'b')
  expect(script.ran).toEqual(['a', 'next', 'b'])
  expect([queue.isBusy, queue.isIdle]).toEqual([false, true])
  await queue.idle()
})

test('the next work counts as current while none is running', async () => {
  const [queue, script] = [new WorkQueue(), new Script()]
  queue.add(script.work('a'))
  queue.add(script.work('b'))
  queue.addNext(script.work('next', { isInternal: true }))
  expect(queue.abort()).toBe(false)
  await script.end('a', 'next', 'b')
  expect(script.ran).toEqual(['a aborted', 'next', 'b'])
})

test('internal work is not aborted, but the work after it is', async () => {
  const [queue, script] = [new WorkQueue(), new Script()]
  queue.addNext(script.work('quiet', { isInternal: true }))
  queue.add(script.work('a'))
  await turns()
  expect(queue.abort()).toBe(false)
  await script.end('quiet', 'a')
  expect(script.ran).toEqual(['quiet', 'a aborted'])
})

test('work that is dropped while it waits never begins', async () => {
  const [queue, script] = [new WorkQueue(), new Script()]
  const { promise, resolve } = Promise.withResolvers<void>()
  queue.add(script.work('a', { after: promise }))
  await turns()
  queue.clear()
  resolve()
  await queue.idle()
  expect(script.ran).toEqual([])
  queue.add(script.work('b'))
  await script.end('b')
  expect(script.ran).toEqual(['b'])
})

test('the queue is bounded in number and size', async () => {
  const [queue, script] = [new WorkQueue(), new Script()]
  const half = 33 * 1024 * 1024
  expect([queue.add(script.work('a', { size: half })), queue.add(script.work('b', { size: half }))]).toEqual([
    true,
    false,
  ])
  await turns()
  expect(queue.add(script.work('c', { size: half }))).toBe(true)
  await script.end('a', 'c')
})
