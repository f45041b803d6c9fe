import { afterEach, describe, expect, test, vi } from 'vitest'
import { scripted } from '../testing/index.ts'
import { assembleAgent } from './agent.ts'
import { type HandlerMap, Hooks, scopeOf, tier } from './hooks.ts'

describe('order', () => {
  test('each handler is awaited before the next one begins', async () => {
    const { hooks, log } = bus()
    hooks.hook('notice', async () => {
      log.push('first begins')
      await pause()
      log.push('first ends')
    })
    hooks.hook('notice', () => void log.push('second'))
    await hooks.tell('notice', { n: 1 })
    expect(log).toEqual(['first begins', 'first ends', 'second'])
  })

  test('agent handlers come before run handlers, those before extensions, in any order of adding', async () => {
    const { hooks, log } = bus()
    const add = (name: string, at: 0 | 1 | 2) => hooks.hook('notice', () => void log.push(name), at)
    add('extension 1', tier.extension)
    add('run 1', tier.run)
    add('agent 1', tier.agent)
    add('extension 2', tier.extension)
    add('agent 2', tier.agent)
    add('run 2', tier.run)
    await hooks.tell('notice', { n: 1 })
    expect(log).toEqual(['agent 1', 'agent 2', 'run 1', 'run 2', 'extension 1', 'extension 2'])
  })

  test('every handler of a firing gets the same object', async () => {
    const { hooks } = bus()
    const seen: object[] = []
    hooks.hook('notice', (ctx) => void seen.push(ctx))
    hooks.hook('notice', async (ctx) => void seen.push(ctx))
    const ctx = { n: 1 }
    await hooks.tell('notice', ctx)
    expect(seen.length).toBe(2)
    expect(seen.every((one) => one === ctx)).toBe(true)
  })

  test('handlers added or taken back while a moment fires count from the next firing on', async () => {
    const { hooks, log } = bus()
    hooks.hook('notice', () => {
      unhook()
      hooks.hook('notice', () => void log.push('added'))
    })
    const unhook = hooks.hook('notice', () => void log.push('taken back'))
    await hooks.tell('notice', { n: 1 })
    expect(log).toEqual(['taken back'])
    await hooks.tell('notice', { n: 2 })
    expect(log).toEqual(['taken back', 'added'])
  })
})

describe('taking back', () => {
  test('unhook takes back one registration, not the other one of the same function', async () => {
    const { hooks, log } = bus()
    const handler = () => void log.push('called')
    const unhook = hooks.hook('notice', handler)
    hooks.hook('notice', handler)
    unhook()
    unhook()
    await hooks.tell('notice', { n: 1 })
    expect(log).toEqual(['called'])
  })

  test('has() says whether a hook has handlers', () => {
    const { hooks } = bus()
    expect(hooks.has('notice')).toBe(false)
    const unhook = hooks.hook('notice', () => {})
    expect(hooks.has('notice')).toBe(true)
    unhook()
    expect(hooks.has('notice')).toBe(false)
  })

  test('a scope takes single handlers and lists, and disposes of its own only', async () => {
    const { hooks, log } = bus()
    const scope = scopeOf(hooks, tier.run)
    const handlers: HandlerMap<Moments> = { notice: [() => void log.push('one'), () => void log.push('two')] }
    scope.hookAll({ ...handlers, 'thing:ask': () => void log.push('asked') })
    scope.hookAll(undefined)
    hooks.hook('notice', () => void log.push('not mine'))
    await hooks.tell('notice', { n: 1 })
    expect(log.splice(0)).toEqual(['not mine', 'one', 'two'])
    scope.dispose()
    await hooks.tell('notice', { n: 2 })
    expect(log).toEqual(['not mine'])
    expect(hooks.has('thing:ask')).toBe(false)
  })
})

describe('cost', () => {
  test('a moment without handlers makes no promise', () => {
    const { hooks } = bus()
    expect(hooks.tell('notice', { n: 1 })).toBe(undefined)
    expect(hooks.ask('thing:ask', { list: [] })).toBe(undefined)
  })

  test('handlers that answer at once make no promise, even when they fail', () => {
    const { hooks, log, reports } = bus()
    hooks.hook('notice', () => void log.push('first'))
    hooks.hook('notice', failing('second'))
    hooks.hook('notice', () => void log.push('third'))
    expect(hooks.tell('notice', { n: 1 })).toBe(undefined)
    expect(hooks.ask('notice', { n: 1 })).toBe(undefined)
    expect(log).toEqual(['first', 'third', 'first', 'third'])
    expect(reports).toEqual(['notice: second', 'notice: second'])
  })
})

describe('a gate whose handler fails', () => {
  test.each([
    ['at once', failing('no idea')],
    ['later', failingLater('no idea')],
  ])('is closed, with the reason, when it fails %s', async (_, handler) => {
    const { hooks, reports } = bus()
    hooks.hook('thing:gate', handler)
    const ctx: Moments['thing:gate'] = { block: false, reason: '', result: 'instead' }
    await hooks.ask('thing:gate', ctx)
    expect(ctx).toEqual({ block: true, reason: 'a gate failed: no idea', result: 'instead' })
    expect(reports).toEqual(['thing:gate: no idea'])
  })

  test('asks the later handlers all the same', async () => {
    const { hooks } = bus()
    const seen: boolean[] = []
    hooks.hook('thing:gate', failingLater('x'))
    hooks.hook('thing:gate', (ctx) => void seen.push(ctx.block))
    await hooks.ask('thing:gate', { block: false, reason: '' })
    expect(seen).toEqual([true])
  })

  test('stays closed although a later handler writes block = false', async () => {
    const { hooks } = bus()
    hooks.hook('thing:gate', failing('x'))
    hooks.hook('thing:gate', (ctx) => {
      ctx.block = false
    })
    const ctx = { block: false, reason: '' }
    await hooks.ask('thing:gate', ctx)
    expect(ctx.block).toBe(true)
  })
})

describe('a tool transform whose handler fails', () => {
  test.each(['tool:transform', 'mcp:tool:transform'] as const)('%s withholds the output', async (name) => {
    const { hooks, reports } = bus()
    const seen: string[] = []
    hooks.hook(name, (ctx) => {
      ctx.result = `half of ${ctx.result}`
      throw new Error('bad pattern')
    })
    hooks.hook(name, ({ result }) => void seen.push(result))
    const ctx = { result: 'the secret', isError: false }
    await hooks.ask(name, ctx)
    const result = 'Tool error: the output was withheld because a handler failed on it: bad pattern'
    expect(ctx).toEqual({ result, isError: true })
    expect(seen).toEqual([result])
    expect(reports).toEqual([`${name}: bad pattern`])
  })
})

describe('any other question whose handler fails', () => {
  test.each([
    ['at once', failing('oops')],
    ['later', failingLater('oops')],
  ])('keeps the value from before, lists included, when it fails %s', async (_, fail) => {
    const { hooks, reports } = bus()
    hooks.hook('thing:ask', (ctx) => void ctx.list.push('kept'))
    hooks.hook('thing:ask', (ctx) => {
      ctx.list.splice(0, 2, 'lost')
      ctx.note = 'lost'
      return fail()
    })
    const ctx: Moments['thing:ask'] = { list: ['given'], note: 'given' }
    await hooks.ask('thing:ask', ctx)
    expect(ctx).toEqual({ list: ['given', 'kept'], note: 'given' })
    expect(reports).toEqual(['thing:ask: oops'])
  })

  test('takes back a field that was not there before', async () => {
    const { hooks } = bus()
    hooks.hook('thing:ask', (ctx) => {
      ctx.note = 'half-baked'
      throw new Error('oops')
    })
    const ctx: Moments['thing:ask'] = { list: [] }
    await hooks.ask('thing:ask', ctx)
    expect(Object.keys(ctx)).toEqual(['list'])
  })
})

describe('an observer that fails', () => {
  test('is reported, stops no other handler, and never rejects', async () => {
    const { hooks, log, reports } = bus()
    hooks.hook('notice', failing('one'))
    hooks.hook('notice', failingLater('two'))
    hooks.hook('notice', () => Promise.reject('three'))
    hooks.hook('notice', () => void log.push('still told'))
    await hooks.tell('notice', { n: 1 })
    expect(log).toEqual(['still told'])
    expect(reports).toEqual(['notice: one', 'notice: two', 'notice: three'])
  })

  test('closes no gate when the gate was only told', async () => {
    const { hooks } = bus()
    hooks.hook('thing:gate', failing('x'))
    const ctx = { block: false, reason: '' }
    await hooks.tell('thing:gate', ctx)
    expect(ctx).toEqual({ block: false, reason: '' })
  })
})

describe('a wrong registration', () => {
  test('an unknown name throws and suggests the nearest ones', () => {
    const { hooks } = bus()
    const add = (name: string) => () => hooks.hook(name as 'notice', () => {})
    expect(add('notise')).toThrow(new TypeError('Unknown hook "notise", did you mean "notice"?'))
    expect(add('thing:gates')).toThrow('Unknown hook "thing:gates", did you mean "thing:gate"')
    expect(add('nothing like it at all')).toThrow(new TypeError('Unknown hook "nothing like it at all"'))
    expect(add('constructor')).toThrow('Unknown hook "constructor"')
  })

  test('a handler that is not a function throws', () => {
    const { hooks } = bus()
    const handlers = { notice: [() => {}, 'shout'] } as HandlerMap<Moments>
    const message = 'The handler of hook "notice" must be a function, got string'
    expect(() => scopeOf(hooks, tier.agent).hookAll(handlers)).toThrow(new TypeError(message))
  })
})

describe('hook:error', () => {
  afterEach(() => void vi.restoreAllMocks())

  test('is told of a failing handler, and the console stays silent', async () => {
    const shown = vi.spyOn(console, 'error').mockImplementation(() => {})
    const heard: unknown[] = []
    const agent = assembleAgent({ provider: scripted('hi'), hooks: { 'hook:error': (ctx) => void heard.push(ctx) } })
    const error = new Error('no disk')
    agent.hooks.hook('session:start', () => Promise.reject(error))
    expect((await agent.run({ prompt: 'hello' })).text).toBe('hi')
    expect(heard).toEqual([{ hook: 'session:start', error }])
    expect(shown).not.toHaveBeenCalled()
  })

  test('without a handler the failure goes to the console', async () => {
    const shown = vi.spyOn(console, 'error').mockImplementation(() => {})
    const error = new Error('no disk')
    const agent = assembleAgent({ provider: scripted('hi') })
    agent.hooks.hook('session:start', () => {
      throw error
    })
    await agent.run({ prompt: 'hello' })
    expect(shown.mock.calls).toEqual([['libero: a handler of "session:start" failed:', error]])
  })

  test.each([
    ['at once', failing('the reporter broke')],
    ['later', failingLater('the reporter broke')],
  ])('a reporter that fails %s is shown on the console and does not go round in circles', async (_, reporter) => {
    const shown = vi.spyOn(console, 'error').mockImplementation(() => {})
    const agent = assembleAgent({ provider: scripted('hi') })
    agent.hooks.hook('hook:error', reporter)
    agent.hooks.hook('session:start', failing('no disk'))
    expect((await agent.run({ prompt: 'hello' })).text).toBe('hi')
    expect(shown.mock.calls).toEqual([['libero: a handler of "hook:error" failed:', new Error('the reporter broke')]])
  })
})

interface Moments {
  notice: { readonly n: number }
  'thing:ask': { list: string[]; note?: string }
  'thing:gate': { block: boolean; reason: string; result?: string }
  'tool:transform': { result: string; isError: boolean }
  'mcp:tool:transform': { result: string; isError: boolean }
}

/** A bus, a log to write to, and what was reported, as `name: message`. */
function bus() {
  const log: string[] = []
  const reports: string[] = []
  const names = new Set(['notice', 'thing:ask', 'thing:gate', 'tool:transform', 'mcp:tool:transform'] as const)
  const hooks = new Hooks<Moments>(names, (hook, error) => {
    reports.push(`${hook}: ${error instanceof Error ? error.message : error}`)
  })
  return { hooks, log, reports }
}

const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 0))

function failing(message: string): () => never {
  return () => {
    throw new Error(message)
  }
}

function failingLater(message: string): () => Promise<never> {
  return () => Promise.resolve().then(failing(message))
}
