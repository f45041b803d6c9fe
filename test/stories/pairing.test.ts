import { describe, expect, test } from 'vitest'
import { createAgent, createMemoryStore, createSession, loadSession } from '../../src/index.ts'
import { call, scripted, texts, tool } from '../../src/testing/index.ts'
import type { LogEntry, SessionStore } from '../../src/types.ts'
import { first, hangAfter, kindOf, resultsOf, story, three, tick, tools, unpaired } from './pairing-story.ts'

// Whatever happens, each call has exactly one result in the next turn, and the agent can go on. `story` checks that.

describe.each(['in memory', 'in a session'] as const)('every call is answered %s', (kind) => {
  test('A030 steering skips the remaining calls but still answers each of them', async () => {
    const { results, status } = await story(kind, {
      calls: three('ok'),
      hooks: (agent) => ({ 'tool:after': first(() => void agent.steer('stop that')) }),
    })
    expect(results).toEqual(['did 1', expect.stringMatching(/^Skipped: /), expect.stringMatching(/^Skipped: /)])
    expect(status).toBe('completed')
  })

  test('A030 steering that comes while a gate waits skips the call in question', async () => {
    const { results, ran } = await story(kind, {
      calls: three('ok'),
      hooks: (agent) => ({ 'tool:gate': first(() => agent.steer('stop that')) }),
    })
    expect([results.map(kindOf), ran]).toEqual([['Skipped', 'Skipped', 'Skipped'], []])
  })

  test('A030 steering skips the calls of a wave that have not started', async () => {
    const { results } = await story(kind, {
      calls: three('safe'),
      behavior: { maxConcurrentTools: 1 },
      hooks: (agent) => ({ 'tool:after': first(() => void agent.steer('stop that')) }),
    })
    expect(results.map(kindOf)).toEqual(['did 1', 'Skipped', 'Skipped'])
  })

  test('A031 an abort before the calls answers all of them, and none is run', async () => {
    const { results, ran, status } = await story(kind, {
      calls: three('ok'),
      hooks: (agent) => ({ 'turn:after': first(() => agent.abort()) }),
    })
    expect(results).toEqual([1, 2, 3].map(() => expect.stringMatching(/^Aborted: /)))
    expect([ran, status]).toEqual([[], 'aborted'])
  })

  test('A031 an abort while a call runs answers it and those after it', async () => {
    const { results, ran } = await story(kind, { calls: [call('c1', 'ok', { n: 1 }), ...three('abort')] })
    expect(results.map(kindOf)).toEqual(['did 1', 'Aborted', 'Aborted', 'Aborted'])
    expect(ran).toEqual(['ok 1', 'abort 1'])
  })

  test('A031 an abort between two calls answers the rest', async () => {
    const { results, ran } = await story(kind, {
      calls: three('ok'),
      hooks: (agent) => ({ 'tool:after': first(() => agent.abort()) }),
    })
    expect([results.map(kindOf), ran]).toEqual([['did 1', 'Aborted', 'Aborted'], ['ok 1']])
  })

  test.each(['tool:gate', 'tool:before'] as const)(
    'A031 after an abort in %s the call is not started',
    async (name) => {
      const { results, ran } = await story(kind, {
        calls: three('ok'),
        hooks: (agent) => ({ [name]: first(() => agent.abort()) }),
      })
      expect([results.map(kindOf), ran]).toEqual([['Aborted', 'Aborted', 'Aborted'], []])
    },
  )

  test.each(['ok', 'safe'])('A031 an abort does not wait for a gate that waits for a person (%s)', async (name) => {
    const { results, ran } = await story(kind, {
      calls: three(name),
      hooks: (agent) => ({ 'tool:gate': first(() => hangAfter(() => agent.abort())) }),
    })
    expect([results.map(kindOf), ran]).toEqual([['Aborted', 'Aborted', 'Aborted'], []])
  })

  test('A031 an abort while a wave runs keeps what was finished', async () => {
    const { results, ran } = await story(kind, {
      calls: [...three('safe').slice(0, 2), call('c4', 'abortSafe'), call('c5', 'ok', { n: 5 })],
    })
    expect(results.map(kindOf)).toEqual(['did 1', 'did 2', 'Aborted', 'Aborted'])
    expect(ran).toEqual(['safe 1', 'safe 2', 'abortSafe undefined'])
  })

  test('a tool that rejects long after the abort changes nothing any more', async () => {
    const late = Promise.withResolvers<string>()
    const tools = (abort: () => void) => ({
      slow: tool('slow', () => {
        setTimeout(abort)
        return late.promise
      }),
    })
    const { agent, results } = await story(kind, { calls: three('slow'), tools })
    const before = texts(agent.turns)
    late.reject(new Error('too late')) // were it unhandled, it would fail this file
    await tick()
    expect([results.map(kindOf), texts(agent.turns)]).toEqual([['Aborted', 'Aborted', 'Aborted'], before])
  })

  test('a tool that stops the run and then rejects is an aborted call', async () => {
    const tools = (abort: () => void) => ({
      rude: tool('rude', async () => {
        abort()
        throw new Error('too late') // were it unhandled, it would fail this file
      }),
    })
    const { results } = await story(kind, { calls: three('rude'), tools })
    expect(results.map(kindOf)).toEqual(['Aborted', 'Aborted', 'Aborted'])
  })

  test('a tool that fails because its signal was aborted is an aborted call', async () => {
    const tools = (abort: () => void) => ({
      obeys: tool('obeys', (_, { signal }) => {
        setTimeout(abort)
        return new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('stopped'))))
      }),
    })
    const { results } = await story(kind, { calls: three('obeys'), tools })
    expect(results.map(kindOf)).toEqual(['Aborted', 'Aborted', 'Aborted'])
  })

  test('destroy during a call answers it', async () => {
    const { results } = await story(kind, {
      calls: three('hang'),
      hooks: (agent) => ({ 'tool:before': first(() => void setTimeout(() => agent.destroy())) }),
      next: 'none',
    })
    expect(results.map(kindOf)).toEqual(['Aborted', 'Aborted', 'Aborted'])
  })

  test('a failure that cancels siblings answers each of them, and what comes after the barrier still runs', async () => {
    const calls = [call('c1', 'hang'), call('c2', 'fatal'), call('c3', 'safe', { n: 3 }), call('c4', 'ok', { n: 4 })]
    const { results } = await story(kind, { calls, behavior: { maxConcurrentTools: 2 } })
    const cancelled = expect.stringMatching(/^Cancelled: fatal failed/)
    expect(results).toEqual([cancelled, 'Tool error: fatal', cancelled, 'did 4'])
  })

  test('a call that suspended the run is skipped by a run with a prompt', async () => {
    const calls = [call('c1', 'ok', { n: 1 }), ...three('suspend')]
    const { results, status, ran } = await story(kind, { calls })
    expect(results.map(kindOf)).toEqual(['did 1', 'Skipped', 'Skipped', 'Skipped'])
    expect([status, ran]).toEqual(['suspended', ['ok 1', 'suspend 1']])
  })

  test('a call that suspended the run is started anew by a run without a prompt', async () => {
    const attempts: unknown[] = []
    const later = tool('later', (_, { attempt, idempotencyKey, suspend }) => {
      attempts.push([attempt, idempotencyKey])
      return attempts.length === 1 ? suspend('not now') : 'did it now'
    })
    const calls = [call('c1', 'ok', { n: 1 }), call('c2', 'later'), call('c3', 'ok', { n: 3 })]
    const { results, ran } = await story(kind, { calls, tools: () => ({ later }), next: 'resume' })
    expect([results, ran]).toEqual([
      ['did 1', 'did it now', 'did 3'],
      ['ok 1', 'ok 3'],
    ])
    const key = attempts.map((attempt) => (attempt as unknown[])[1])[0]
    expect(attempts).toEqual([
      [1, key],
      [2, key],
    ])
  })

  test.each([
    ['ok', 'prompt', ['did 1', 'Skipped', 'Skipped'], ['ok 1']],
    ['ok', 'resume', ['did 1', 'did 2', 'did 3'], ['ok 1', 'ok 2', 'ok 3']],
    ['safe', 'prompt', ['Skipped', 'Skipped', 'Skipped'], []],
    ['safe', 'resume', ['did 1', 'did 2', 'did 3'], ['safe 1', 'safe 2', 'safe 3']],
  ] as const)('a gate that halts before the second of three %s calls: %s', async (name, next, answers, runs) => {
    let isOpen = false
    const { results, ran, status } = await story(kind, {
      calls: three(name),
      next,
      hooks: () => ({
        'tool:gate': (gate) => {
          if (gate.input.n === 2 && !isOpen) gate.halt = { reason: 'permission-required' }
        },
        'session:end': () => void (isOpen = true),
      }),
    })
    expect([results.map(kindOf), ran, status]).toEqual([answers, runs, 'suspended'])
  })

  test('an abort beats a suspension of the same wave', async () => {
    const { results, status } = await story(kind, {
      calls: [call('c1', 'suspendSafe'), call('c2', 'abortSafe')],
    })
    expect([results.map(kindOf), status]).toEqual([['Aborted', 'Aborted'], 'aborted'])
  })
})

describe('what is on disk', () => {
  test('A032 tool-results:after fires when both turns are in the session', async () => {
    const store = createMemoryStore()
    const session = await createSession({ store, id: 's' })
    const seen: unknown[] = []
    const agent = createAgent({ provider: scripted(three('ok'), 'fine'), session, tools: tools() })
    agent.hooks.hook('tool-results:after', async ({ turnId, assistantTurn, resultTurn }) => {
      expect(session.turns.slice(-2)).toEqual([assistantTurn, resultTurn])
      expect((await loadSession(store, 's')).turns.slice(-2)).toEqual([assistantTurn, resultTurn])
      seen.push(turnId, texts([assistantTurn]), texts([resultTurn]))
    })
    await agent.run({ prompt: 'go' })
    expect(seen).toEqual([agent.turns[1]?.id, texts(agent.turns.slice(1, 2)), ['user: ←did 1 ←did 2 ←did 3']])
  })

  test.each([
    ['the first intent', 'call_started', 0, ['did 1', 'did 2'], ['ok 1', 'ok 2']],
    ['the first result', 'call_result', 0, ['Interrupted', 'did 2'], ['ok 1', 'ok 2']],
    ['the second result', 'call_result', 1, ['did 1', 'Interrupted'], ['ok 1', 'ok 2']],
  ] as const)('A033 a store that fails on %s leaves no orphan', async (_, type, skip, answers, runs) => {
    const store = createMemoryStore()
    const ran: string[] = []
    const script = scripted(three('ok').slice(0, 2), 'fine')
    const session = await createSession({ store: failingOn(store, type, skip), id: 's' })
    const agent = createAgent({ provider: script, session, tools: tools(ran) })
    await expect(agent.run({ prompt: 'go' })).rejects.toThrow('disk full')
    expect(unpaired(agent.turns)).toEqual([])

    const reloaded = await loadSession(store, 's')
    expect(texts(reloaded.turns)).toEqual(['user: go'])
    const next = createAgent({ provider: script, session: reloaded, tools: tools(ran) })
    await next.run()
    expect([unpaired(next.turns), resultsOf(next.turns).map(kindOf), ran]).toEqual([[], answers, runs])
  })
})

/** A store that cannot write the entry of a type, after so many that it could, nor anything after it. */
function failingOn(store: SessionStore, type: LogEntry['type'], skip: number): SessionStore {
  let left = skip
  return {
    ...store,
    async append(id, entries, fence) {
      if (entries.some((entry) => entry.type === type && left-- <= 0) || left < 0) throw new Error('disk full')
      await store.append(id, entries, fence)
    },
  }
}
