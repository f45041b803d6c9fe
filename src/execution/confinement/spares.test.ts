import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { SandboxShell } from './sandbox-shell.ts'
import { createSpares } from './spares.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

describe('spare sandboxes', () => {
  test('the first command builds its own, and the next one finds a spare that was built meanwhile', async () => {
    const { spares, builder, built } = kit()
    const first = await spares.take('a', builder('a'))
    expect(built()).toEqual(['a1'])
    first.release()
    expect(built()).toEqual(['a1'])
    await nextTurn()
    expect(built()).toEqual(['a1', 'a2'])
    expect((await spares.take('a', builder('a'))).shell).toMatchObject({ name: 'a2' })
  })

  test('the next one is built during a long command, and once only', async () => {
    const { spares, builder, built } = kit()
    const { release } = await spares.take('a', builder('a'))
    await vi.advanceTimersByTimeAsync(1000)
    expect(built()).toEqual(['a1', 'a2'])
    release()
    await nextTurn()
    expect(built()).toEqual(['a1', 'a2'])
  })

  test('a spare of another kind does not serve, and the oldest of three goes', async () => {
    const { spares, builder, built, discarded } = kit()
    for (const kind of ['a', 'b', 'a', 'c']) {
      ;(await spares.take(kind, builder(kind))).release()
      await nextTurn()
    }
    expect(built()).toEqual(['a1', 'a2', 'b3', 'b4', 'a5', 'c6', 'c7'])
    expect(discarded()).toEqual(['b4'])
  })

  test('one that died, or could not be built, is replaced', async () => {
    const { spares, builder, built, die } = kit()
    ;(await spares.take('a', builder('a'))).release()
    await nextTurn()
    die('a2')
    expect((await spares.take('a', builder('a'))).shell).toMatchObject({ name: 'a3' })
    const failing = () => Promise.reject(new Error('no more processes'))
    await expect(spares.take('b', failing)).rejects.toThrow('no more processes')
    ;(await spares.take('b', builder('b'))).release()
    await nextTurn()
    expect(built().slice(3)).toEqual(['b4', 'b5'])
  })

  test('it ends after some idle minutes, and with the handle', async () => {
    const { spares, builder, discarded } = kit()
    ;(await spares.take('a', builder('a'))).release()
    await vi.advanceTimersByTimeAsync(10 * 60_000)
    expect(discarded()).toEqual(['a2'])
    const last = await spares.take('a', builder('a'))
    await spares.end()
    last.release()
    await vi.advanceTimersByTimeAsync(1000)
    expect(discarded()).toEqual(['a2'])
  })
})

/** The next sandbox is built when the result of the command is out. */
const nextTurn = () => vi.advanceTimersByTimeAsync(0)

function kit() {
  const names: string[] = []
  const gone: string[] = []
  const dead = new Set<string>()
  const builder = (kind: string) => async (): Promise<SandboxShell & { name: string }> => {
    const name = `${kind}${names.length + 1}`
    names.push(name)
    return {
      name,
      isWaiting: () => !dead.has(name),
      discard: async () => void gone.push(name),
      run: () => Promise.reject(new Error('not run here')),
    }
  }
  return {
    ...{ spares: createSpares(), builder },
    built: () => names,
    discarded: () => gone,
    die: (name: string) => dead.add(name),
  }
}
