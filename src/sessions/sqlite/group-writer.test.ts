import { afterEach, expect, test, vi } from 'vitest'
import { type GroupSteps, GroupWriter, type Outcome } from './group-writer.ts'

afterEach(() => void vi.useRealTimers())

/** Steps that note what happens. A sync takes until the event loop turns. */
function notedSteps(notes: string[], sync = async (): Promise<void> => {}): GroupSteps {
  return {
    async transaction(work) {
      work()
      notes.push('commit')
    },
    savepoint<T>(work: () => T): Outcome<T> {
      try {
        return { value: work() }
      } catch (error) {
        return { error }
      }
    },
    async sync() {
      await new Promise((resolve) => setImmediate(resolve))
      await sync()
      notes.push('sync')
      return true
    },
  }
}

test('ST12 writes that arrive while others are committed share the next transaction', async () => {
  const notes: string[] = []
  const writer = new GroupWriter(notedSteps(notes))
  const write = (name: string): Promise<void> =>
    writer.write(() => void notes.push(name)).then(() => void notes.push(`${name} is durable`))
  await Promise.all(['a', 'b', 'c'].map(write))
  expect(notes.slice(0, 3)).toEqual(['a', 'commit', 'sync'])
  expect(notes.filter((note) => note !== 'a is durable').slice(3)).toEqual([
    ...['b', 'c', 'commit', 'sync', 'b is durable', 'c is durable'],
  ])
  await writer.idle()
})

test('ST12 a write that is refused fails alone, and one whose transaction fails fails with all of its group', async () => {
  const notes: string[] = []
  let failure: Error | undefined
  const steps = notedSteps(notes, async () => {
    if (failure) throw failure
  })
  const writer = new GroupWriter(steps)
  const outcomes = (): Promise<string[]> =>
    Promise.all(
      ['first', 'refused', 'last'].map((name) =>
        writer
          .write(() => {
            if (name === 'refused') throw new Error('refused')
            return name
          })
          .catch(({ message }: Error) => message),
      ),
    )
  expect(await outcomes()).toEqual(['first', 'refused', 'last'])
  failure = new Error('no disk')
  expect(await outcomes()).toEqual(['no disk', 'refused', 'no disk'])
  failure = undefined
  expect(await outcomes()).toEqual(['first', 'refused', 'last'])
})

test('ST13 a group that takes long is cut, and the event loop turns before the rest', async () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  const notes: string[] = []
  const writer = new GroupWriter(notedSteps(notes))
  const slowly = (name: string) => () => {
    vi.advanceTimersByTime(6)
    notes.push(name)
  }
  const writes = ['a', 'b', 'c', 'd', 'e'].map((name) => writer.write(slowly(name)))
  setImmediate(() => notes.push('turn'))
  await Promise.all(writes)
  expect(notes).toEqual(['a', 'commit', 'turn', 'sync', 'b', 'c', 'commit', 'sync', 'd', 'e', 'commit', 'sync'])
})

test('ST13 the event loop turns while many callers go on after a group', async () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  const writer = new GroupWriter(notedSteps([]))
  let turns = 0
  let isOver = false
  const turn = (): void => {
    turns++
    if (!isOver) setImmediate(turn)
  }
  const goOn = async (write: Promise<void>): Promise<number> => {
    await write
    vi.advanceTimersByTime(6)
    return turns
  }
  const first = goOn(writer.write(() => {}))
  const others = Array.from({ length: 20 }, () => goOn(writer.write(() => {})))
  turn()
  await first
  const seen = await Promise.all(others)
  isOver = true
  expect(new Set(seen).size).toBeGreaterThan(5)
})
