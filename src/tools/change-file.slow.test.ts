import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { checkedExecution } from '../core/confined-execution.ts'
import type { ExecutionContext } from '../core/execution.ts'
import { type EntryBody, Log, type LogEntry } from '../core/log.ts'
import type { SessionStore } from '../core/store.ts'
import { createProcessContext } from '../execution/process.ts'
import { createAgent, createMemoryStore, createSession, loadSession } from '../index.ts'
import { digestOf } from '../platform/digest.ts'
import { call, memoryExecution, scripted, tool } from '../testing/index.ts'
import { type Change, type ChangeContext, changeFile } from './change-file.ts'
import { runSerially } from './serial-queue.ts'
import { writeFile } from './write-file.ts'

let folder: string
let execution: ExecutionContext
let writes: number
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'libero-keyed-'))
  const real = createProcessContext({ cwd: folder })
  writes = 0
  execution = {
    ...real,
    writeFile(...args) {
      writes++
      return real.writeFile(...args)
    },
  }
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const at = (name: string): string => join(folder, name)
const held = (name: string): string => readFileSync(at(name), 'utf8')
const put = (name: string, content: string | undefined): void =>
  content === undefined ? rmSync(at(name), { force: true }) : writeFileSync(at(name), content)

/** A file that was there, one that was not, and one too large to be named by its content. */
const before: readonly (string | undefined)[] = ['old', undefined, 'x'.repeat(16 * 1024 * 1024 + 1)]
const what = (text: string | undefined): string => (text === undefined ? 'no file' : `${text.length} bytes`)

describe('a call that runs again after a crash', () => {
  test.each(before.map((text) => [what(text), text] as const))('does not write twice (before: %s)', async (_, text) => {
    put('a.txt', text)
    const crashedStore = await crashed()
    expect(held('a.txt')).toBe('new\n')
    const { output, touched } = await resumed(crashedStore)
    const verb = text === undefined ? 'Created' : 'Updated'
    expect(output).toBe(`${verb} a.txt (1 line; had been written before the interruption)`)
    expect(touched).toMatchObject({ path: 'a.txt', access: 'write', digest: digestOf('new\n') })
    expect([writes, held('a.txt')]).toEqual([0, 'new\n'])
  })

  test.each([['old'], [undefined]])('writes when it had not come to that (before: %s)', async (text) => {
    put('a.txt', text)
    const crashedStore = await crashed()
    put('a.txt', text)
    const { output } = await resumed(crashedStore)
    expect(output).toBe(`${text === undefined ? 'Created' : 'Updated'} a.txt (1 line)`)
    expect([writes, held('a.txt')]).toEqual([1, 'new\n'])
  })

  test.each([
    ['old', 'theirs'],
    ['old', undefined],
    [undefined, 'theirs'],
  ])('is refused when the file was changed meanwhile (before: %s, now: %s)', async (text, now) => {
    put('a.txt', text)
    const crashedStore = await crashed()
    put('a.txt', now)
    const { output, touched } = await resumed(crashedStore)
    expect(output).toMatch(/^Tool error: "a\.txt" was changed by something else while this call was interrupted/)
    expect(touched).toBeUndefined()
    expect(writes).toBe(0)
    if (now !== undefined) expect(held('a.txt')).toBe(now)
  })

  test('that had noted nothing begins anew', async () => {
    put('a.txt', 'old')
    const crashedStore = await crashed('call_started')
    put('a.txt', 'theirs')
    expect((await resumed(crashedStore)).output).toBe('Updated a.txt (1 line)')
  })

  test('is not confused by the note of another call, nor by what is no note', async () => {
    put('a.txt', 'old')
    const entries = await (await crashed()).read('s')
    for (const value of [
      undefined,
      null,
      'x',
      { writes: 3 },
      { writes: [null, 3, { key: 's/1' }] },
      { writes: [{ key: 's/other', callId: 'other', path: 'a.txt', before: null, after: digestOf('theirs') }] },
    ]) {
      put('a.txt', 'theirs')
      const crashedStore = await storeOf(entries.map((entry) => (entry.type === 'state' ? { ...entry, value } : entry)))
      expect((await resumed(crashedStore)).output).toBe('Updated a.txt (1 line)')
    }
  })

  test('finds its note though other calls made theirs at the same time', async () => {
    const many = tool(
      'many',
      async (_, ctx) => {
        const write = (n: number) => ctx.call('write_file', { path: `${n}.txt`, content: `${n}` })
        const answers = await Promise.all([1, 2, 3].map(write))
        return answers.map(({ output }) => output).join('\n')
      },
      { replay: 'keyed' },
    )
    const store = createMemoryStore()
    const session = await createSession({ store, id: 's' })
    const tools = { many, writeFile }
    await createAgent({ provider: scripted([call('1', 'many')], 'done'), session, execution, tools }).run({
      prompt: 'go',
    })
    const entries = await store.read('s')
    const states = entries.filter(({ type }) => type === 'state')
    expect(states).toHaveLength(3)

    writes = 0
    const noResults = entries.slice(0, entries.indexOf(states[2]!) + 1).filter(({ type }) => type !== 'call_result')
    const again = await loadSession(await storeOf(noResults), 's')
    const provider = scripted('done')
    await createAgent({ provider, session: again, execution, tools }).run()
    expect(outputOf(provider.requests[0]!.messages.at(-1)!.content[0])).toBe(
      [1, 2, 3].map((n) => `Created ${n}.txt (1 line; had been written before the interruption)`).join('\n'),
    )
    expect(writes).toBe(0)
  })

  test('finds its note though others were being written when it was made', async () => {
    const log = new Log({ commit: () => new Promise((done) => setImmediate(done)) })
    const calls = ['1', '2', '3'].map((id) => call(id, 'write_file'))
    const turn = { id: 't', runId: 'r', role: 'assistant', content: calls, createdAt: 0 } as const
    await log.append({ type: 'turn', turn })
    for (const { id } of calls)
      await log.append({ type: 'call_started', callId: id, key: `s/${id}`, attempt: 1, replay: 'keyed' })
    const all = calls.map(async ({ id }) =>
      changeFile(await context({ log, callId: id }), { path: `${id}.txt`, access: 'write' }, append(id)),
    )
    await Promise.all(all)
    const again = calls.map(async ({ id }) =>
      changeFile(await context({ log, callId: id, attempt: 2 }), { path: `${id}.txt`, access: 'write' }, append(id)),
    )
    const outcomes = (await Promise.all(again)).map(({ outcome }) => outcome)
    expect(outcomes).toEqual(['written by earlier attempt', 'written by earlier attempt', 'written by earlier attempt'])
  })

  test('keeps in the log only what is under way', async () => {
    const store = createMemoryStore()
    const session = await createSession({ store, id: 's' })
    const calls = [1, 2, 3].map((n) => [call(`${n}`, 'write_file', { path: 'a.txt', content: `${n}` })])
    await createAgent({ provider: scripted(...calls, 'done'), session, execution, tools: { writeFile } }).run({
      prompt: 'go',
    })
    const values = (await store.read('s')).flatMap((entry) => (entry.type === 'state' ? [entry.value] : []))
    const note = (n: number, before: string | null) => ({
      writes: [{ key: `s/${n}`, callId: `${n}`, path: 'a.txt', before, after: digestOf(`${n}`) }],
    })
    expect(values).toEqual([note(1, null), note(2, digestOf('1')), note(3, digestOf('2'))])
  })

  test('at any moment of it ends with the same file and the same answer', async () => {
    let points = 0
    for (let at = 1, isOver = false; !isOver && at < 30; at++) {
      put('a.txt', 'old')
      const store = createMemoryStore()
      const provider = scripted([call('1', 'write_file', { path: 'a.txt', content: 'new\n' })], 'done')
      const session = await createSession({ store: failing(store, at), id: 's' })
      isOver = await createAgent({ provider, session, execution, tools: { writeFile } })
        .run({ prompt: 'go' })
        .then(
          () => true,
          () => false,
        )
      const again = await loadSession(store, 's')
      if (again.log.transcript.openCalls.length === 0) continue
      points++
      await createAgent({ provider: scripted('done'), session: again, execution, tools: { writeFile } }).run()
      expect(again.turns.flatMap(({ content }) => content.map(outputOf)).join('')).toMatch(/Updated a\.txt \(1 line/)
      expect(held('a.txt')).toBe('new\n')
    }
    expect(points).toBe(3) // the call was heard of, was begun, was noted
  })
})

describe('changes of one file', () => {
  test.each(['process', 'memory'])('by many at once are all there, in the order of arrival (%s)', async (kind) => {
    mkdirSync(at('real'))
    symlinkSync('real', at('link'))
    const place = kind === 'process' ? execution : memoryExecution()
    const paths = kind === 'process' ? ['real/a.txt', './real/../real/a.txt', 'real/a.txt'] : ['a.txt', './a.txt']
    const handles = [await place.spawn({ cwd: folder }), await place.spawn({ cwd: folder })]
    const all = Array.from({ length: 30 }, async (_, i) => {
      const ctx = await context({ execution: place, handle: handles[i % 2]!, callId: String(i) })
      return changeFile(ctx, { path: paths[i % paths.length]!, access: 'edit' }, append(`${i}\n`))
    })
    await Promise.all(all)
    const content = await place.readFile(handles[0]!, paths[0]!)
    expect(content).toBe(Array.from({ length: 30 }, (_, i) => `${i}\n`).join(''))
  })

  test('by calls whose commands are checked each on its own are all there too', async () => {
    put('a.txt', '')
    const all = Array.from({ length: 8 }, async (_, i) => {
      const ofCall = checkedExecution(execution, async () => {})
      const ctx = await context({ execution: ofCall, callId: String(i) })
      return changeFile(ctx, { path: 'a.txt', access: 'edit' }, append(`${i}\n`))
    })
    await Promise.all(all)
    expect(held('a.txt')).toBe('0\n1\n2\n3\n4\n5\n6\n7\n')
  })

  test('through links meet at the file itself', async () => {
    mkdirSync(at('real'))
    put('real/a.txt', '')
    symlinkSync('real', at('link'))
    const all = ['real/a.txt', 'link/a.txt', 'real/a.txt', 'link/a.txt'].map(async (path, i) =>
      changeFile(await context({ callId: String(i) }), { path, access: 'edit' }, append(`${i}\n`)),
    )
    await Promise.all(all)
    expect(held('real/a.txt').split('\n').sort()).toEqual(['', '0', '1', '2', '3'])
  })

  test('one that is cancelled while it waits leaves the queue and writes nothing', async () => {
    const { promise: isOver, resolve: finish } = Promise.withResolvers<void>()
    const controller = new AbortController()
    const slow: Change<undefined> = async (current) => {
      await isOver
      return append('slow\n')(current)
    }
    const one = changeFile(await context({ callId: '1' }), { path: 'a.txt', access: 'edit' }, slow)
    const cancelled = changeFile(
      await context({ callId: '2', signal: controller.signal }),
      { path: 'a.txt', access: 'edit' },
      append('never\n'),
    )
    const three = changeFile(await context({ callId: '3' }), { path: 'a.txt', access: 'edit' }, append('last\n'))
    controller.abort(new Error('not wanted any more'))
    await expect(cancelled).rejects.toThrow('not wanted any more')
    finish()
    await Promise.all([one, three])
    expect(held('a.txt')).toBe('slow\nlast\n')
  })

  test('one that is cancelled while it computes writes nothing', async () => {
    const controller = new AbortController()
    const ctx = await context({ signal: controller.signal })
    const change = changeFile(ctx, { path: 'a.txt', access: 'edit' }, async () => {
      controller.abort(new Error('not wanted any more'))
      return { value: undefined, content: Buffer.from('x') }
    })
    await expect(change).rejects.toThrow('not wanted any more')
    expect([writes, ctx.log.head]).toEqual([0, 0])
  })

  test('one whose time runs out while it computes, without a pause, writes nothing', async () => {
    const controller = new AbortController()
    const memory = memoryExecution({ files: { 'a.txt': 'old' } })
    const ctx = await context({ execution: memory, handle: await memory.spawn(), signal: controller.signal })
    const change = changeFile(ctx, { path: 'a.txt', access: 'edit' }, async () => {
      setTimeout(() => controller.abort(new Error('it took too long')), 1)
      for (const until = Date.now() + 10; Date.now() < until; );
      return { value: undefined, content: Buffer.from('new') }
    })
    await expect(change).rejects.toThrow('it took too long')
    expect([memory.files.get('/project/a.txt'), ctx.log.head]).toEqual(['old', 0])
  })

  test('one that is cancelled while it is noted writes nothing', async () => {
    const controller = new AbortController()
    const log = new Log({ commit: async () => controller.abort(new Error('not wanted any more')) })
    const change = changeFile(
      await context({ log, signal: controller.signal }),
      { path: 'a.txt', access: 'edit' },
      append('x'),
    )
    await expect(change).rejects.toThrow('not wanted any more')
    expect(writes).toBe(0)
  })

  test('one that fails is no obstacle for the next', async () => {
    const touch = { path: 'a.txt', access: 'edit' } as const
    const fails = changeFile(await context(), touch, () => Promise.reject(new Error('no')))
    const next = changeFile(await context(), touch, append('x'))
    await expect(fails).rejects.toThrow('no')
    await expect(next).resolves.toMatchObject({ outcome: 'changed', isNew: true })
  })

  test('wait only for the same file in the same context', async () => {
    const { signal } = new AbortController()
    const { promise: isFree, resolve: free } = Promise.withResolvers<void>()
    const order: string[] = []
    const work = (name: string) => async () => void order.push(name)
    const first = runSerially(execution, 'a', signal, () => isFree.then(work('first of a')))
    const second = runSerially(execution, 'a', signal, work('second of a'))
    await runSerially(execution, 'b', signal, work('b'))
    await runSerially({ ...execution }, 'a', signal, work('a elsewhere'))
    free()
    await Promise.all([first, second])
    expect(order).toEqual(['b', 'a elsewhere', 'first of a', 'second of a'])
  })
})

describe('a change', () => {
  test('is not made when it cannot be noted first', async () => {
    const log = new Log({ commit: () => Promise.reject(new Error('the store is full')) })
    const change = changeFile(await context({ log }), { path: 'a.txt', access: 'write' }, append('x'))
    await expect(change).rejects.toThrow('the store is full')
    expect(writes).toBe(0)
  })

  test('that changes nothing writes nothing and notes nothing; where there is no file it says so', async () => {
    put('a.txt', 'same')
    const ctx = await context()
    const nothing: Change<undefined> = async () => ({ value: undefined })
    const done = await changeFile(ctx, { path: 'a.txt', access: 'edit' }, nothing)
    expect(done).toMatchObject({ outcome: 'no change', file: { digest: digestOf('same') } })
    await expect(changeFile(ctx, { path: 'b.txt', access: 'edit' }, nothing)).rejects.toThrow('there is no "b.txt"')
    expect([writes, ctx.log.head]).toEqual([0, 0])
  })

  test('of a file that is too large to read as a whole is refused in words', async () => {
    put('a.bin', '')
    truncateSync(at('a.bin'), 64 * 1024 * 1024 + 1)
    const change = changeFile(await context(), { path: 'a.bin', access: 'edit' }, append('x'))
    await expect(change).rejects.toThrow('"a.bin" has 67108865 bytes, more than the maximum of 67108864')
  })
})

/** Runs a write to its end and gives what the store would hold, had the process died after the first such entry. */
async function crashed(last: EntryBody['type'] = 'state'): Promise<SessionStore> {
  const store = createMemoryStore()
  const session = await createSession({ store, id: 's' })
  const provider = scripted([call('1', 'write_file', { path: 'a.txt', content: 'new\n' })], 'done')
  await createAgent({ provider, session, execution, tools: { writeFile } }).run({ prompt: 'go' })
  const entries = await store.read('s')
  writes = 0
  return storeOf(entries.slice(0, entries.findIndex(({ type }) => type === last) + 1))
}

async function storeOf(entries: readonly LogEntry[]): Promise<SessionStore> {
  const store = createMemoryStore()
  const { epoch } = await store.lease('s', { owner: 'crashed', ttlMs: 0, create: true })
  await store.append(
    's',
    entries.map((entry, i) => ({ ...entry, seq: i + 1 })),
    { epoch, head: 0 },
  )
  return store
}

async function resumed(store: SessionStore): Promise<{ output: string; touched: unknown }> {
  const session = await loadSession(store, 's')
  const provider = scripted('done')
  await createAgent({ provider, session, execution, tools: { writeFile } }).run()
  const output = outputOf(provider.requests[0]!.messages.at(-1)!.content[0])
  return { output, touched: session.log.transcript.touched.get('1') }
}

const outputOf = (block: unknown): string => (block as { output?: string } | undefined)?.output ?? ''

/** A store that fails at its nth write, after it was applied. */
function failing(store: SessionStore, nth: number): SessionStore {
  let n = 0
  return {
    ...store,
    append: async (...args) => {
      const done = await store.append(...args)
      if (++n >= nth) throw new Error('the process died')
      return done
    },
  }
}

async function context(given: Partial<ChangeContext> = {}): Promise<ChangeContext> {
  const handle = given.handle ?? (await execution.spawn())
  const { callId = '1' } = given
  const signal = new AbortController().signal
  return { execution, handle, signal, log: new Log(), callId, idempotencyKey: `s/${callId}`, attempt: 1, ...given }
}

function append(text: string): Change<undefined> {
  return async (current) => {
    const before = (await current?.bytes()) ?? Buffer.alloc(0)
    return { value: undefined, content: Buffer.concat([before, Buffer.from(text)]) }
  }
}
