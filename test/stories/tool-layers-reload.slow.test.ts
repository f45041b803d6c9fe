import { rm } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { createAgent } from '../../src/create-agent.ts'
import { fakeClock } from '../../src/testing/fake-clock.ts'
import { call, scripted, tool } from '../../src/testing/scripted.ts'
import { notedLife, offered, runCalls, runWith, toolFile, until, type World, world } from './tool-layers-kit.ts'

const says = (text: string): Record<string, string> => ({
  lifecycle: notedLife,
  execute: `async (_, host) => { await host.audit.write('${text} runs'); return { ok: true, value: '${text}' } }`,
})

const events = ({ audited }: World): string[] =>
  audited.map(({ event, details }) => (event === 'ToolNote' ? String(details?.event) : event))

describe('the life of a tool', () => {
  test('B008 has its phases in order, and ends once however often it is told to', async () => {
    const at = await world()
    await at.write('home/tools/a.mjs', toolFile('a', says('a')))
    await at.write('project/.libero/tools/b.mjs', toolFile('b', { lifecycle: `{ init() {} }` }))
    const layers = at.layers()
    const agent = createAgent({ provider: scripted([call('1', 'a')], 'done', 'again'), extensions: [layers] })
    await agent.run({ prompt: 'go' })
    await agent.run({ prompt: 'go on' })
    expect(at.notes).toEqual(['init', 'activate', 'a runs'])
    await Promise.all([layers.dispose?.(), layers.dispose?.()])
    await agent.destroy()
    await layers.dispose?.()
    expect(at.notes).toEqual(['init', 'activate', 'a runs', 'deactivate', 'dispose'])
  })

  test('of one that is shadowed does not begin', async () => {
    const at = await world()
    await at.write('home/tools/a.mjs', toolFile('a', says('global')))
    await at.write('project/.libero/tools/a.mjs', toolFile('a'))
    await runWith(at.layers(), ['done'])
    expect(at.notes).toEqual([])
  })

  test('falls back to the layer below if the tool fails to load', async () => {
    const at = await world()
    await at.write('home/tools/a.mjs', toolFile('a', says('global')))
    await at.write(
      'project/.libero/tools/a.mjs',
      toolFile('a', { lifecycle: `{ activate() { throw new Error('no') } }` }),
    )
    const layers = at.layers()
    expect((await runCalls(layers, [['a']])).results).toEqual(['global'])
    expect(layers.list().map(({ layer, state }) => `${layer} ${state}`)).toEqual(['project unusable', 'global active'])
  })

  test('B009 ends when the calls under way have ended, and no new one is let in', async () => {
    const at = await world()
    const execute = `async (_, host) => {
        await host.interaction.request({ kind: 'Confirm', payload: { kind: 'Confirm', prompt: 'go on?' } })
        await host.audit.write('call ends')
        return { ok: true, value: 'drained' }
      }`
    await at.write('home/tools/slow.mjs', toolFile('slow', { execute, lifecycle: notedLife }))
    const waiting: (() => void)[] = []
    const interact = () =>
      new Promise<{ status: 'accepted'; value: true }>((resolve) => {
        waiting.push(() => resolve({ status: 'accepted', value: true }))
      })
    const layers = at.layers({ interact })
    const running = runWith(layers, [[call('1', 'slow'), call('2', 'slow')], 'done'])
    await until(() => waiting.length === 1)
    const ending = layers.dispose?.()
    await new Promise((resolve) => setTimeout(resolve, 5))
    expect(at.notes).toEqual(['init', 'activate'])
    waiting[0]?.()
    await ending
    expect(at.notes).toEqual(['init', 'activate', 'call ends', 'deactivate', 'dispose'])
    expect((await running).results).toEqual(['drained', expect.stringContaining('ToolTransient/ResourceBusy: slow')])
  })

  test.each([
    ['loads', 'await new Promise(() => {})', 'loading it took longer than 10000 ms'],
    [
      'gets ready',
      toolFile('stuck', { lifecycle: '{ init: () => new Promise(() => {}) }' }),
      'init of stuck failed: it took',
    ],
  ])('is given up on when it never %s', async (_, source, message) => {
    const at = await world()
    await at.write('home/tools/stuck.mjs', source)
    await at.write('home/tools/good.mjs', toolFile('good'))
    const clock = fakeClock()
    const layers = at.layers()
    const running = runCalls(layers, [['good']], { clock })
    await until(() => clock.pending === 1)
    await new Promise((resolve) => setTimeout(resolve, 50))
    await clock.advance(10_000)
    expect((await running).results).toEqual(['good ran'])
    expect(layers.diagnostics).toMatchObject([{ tool: 'stuck', message: expect.stringContaining(message) }])
  })
})

describe('a reload', () => {
  test('B035 is held during a turn and done after it; the next turn has the new code', async () => {
    const at = await world()
    await at.write('home/tools/a.mjs', toolFile('a', says('old')))
    await at.write('home/tools/z.mjs', toolFile('z'))
    const layers = at.layers()
    const outcomes: unknown[] = []
    const ask = tool('ask', async () => {
      await at.write('home/tools/a.mjs', toolFile('a', { ...says('new'), description: `'New.'` }))
      outcomes.push(await layers.reload('a'))
      return 'asked'
    })
    const ran = await runWith(layers, [[call('1', 'ask'), call('2', 'a')], [call('3', 'a')], 'done'], {
      tools: { ask },
    })
    expect(outcomes).toEqual(['deferred-between-turns'])
    expect(ran.results).toEqual(['asked', 'old', 'new'])
    const life = [
      'init',
      'activate',
      'old runs',
      'deactivate',
      'dispose',
      'init',
      'activate',
      'ExtensionReloaded',
      'new runs',
    ]
    expect(events(at)).toEqual(life)
    const described = ran.provider.requests.map(({ tools }) => tools.find(({ name }) => name === 'a')?.description)
    expect(described).toEqual(['Does a.', 'New.', 'New.'])
  })

  test('B035 is done after a turn that was cancelled', async () => {
    const at = await world()
    await at.write('home/tools/a.mjs', toolFile('a', says('old')))
    const layers = at.layers()
    const agent = createAgent({
      provider: scripted([call('1', 'stop')]),
      extensions: [layers],
      tools: {
        stop: tool('stop', async () => {
          await layers.reload('a')
          agent.abort()
          return new Promise(() => {})
        }),
      },
    })
    await expect(agent.run({ prompt: 'go' })).rejects.toThrow('aborted')
    expect(events(at)).toEqual(['init', 'activate', 'deactivate', 'dispose', 'init', 'activate', 'ExtensionReloaded'])
    await agent.destroy()
  })

  test('waits for the turn of the agent above, not for that of a child', async () => {
    const at = await world()
    await at.write('home/tools/a.mjs', toolFile('a', says('a')))
    const layers = at.layers()
    const seen: string[][] = []
    const delegate = tool('delegate', async (_, ctx) => {
      await layers.reload()
      await (await ctx.createChild()).run({ prompt: 'help' })
      seen.push(events(at))
      return 'helped'
    })
    await runWith(layers, [[call('1', 'delegate')], [call('2', 'a')], 'child done', 'done'], { tools: { delegate } })
    expect(seen).toEqual([['init', 'activate', 'a runs']])
    expect(events(at)).toContain('ExtensionReloaded')
  })

  test('while nothing runs is done at once', async () => {
    const at = await world()
    await at.write('home/tools/a.mjs', toolFile('a', says('old')))
    const layers = at.layers()
    await runWith(layers, ['done'])
    await at.write('home/tools/a.mjs', toolFile('a', says('new')))
    expect(await layers.reload('a')).toBe('reloaded-in-turn')
    expect((await runCalls(layers, [['a']])).results).toEqual(['new'])
  })

  test.each([
    ['cannot be loaded', 'export default {', []],
    ['is no tool any more', toolFile('a', { gated: '1' }), []],
    [
      'fails to get ready',
      toolFile('a', { lifecycle: notedLife.replace('init:', `init() { throw new Error('no') }, x:`) }),
      ['deactivate', 'dispose'],
    ],
  ])('B036 of a tool whose new code %s disables it, and is recorded', async (_, source, after) => {
    const at = await world()
    await at.write('home/tools/a.mjs', toolFile('a', says('old')))
    await at.write('home/tools/b.mjs', toolFile('b'))
    const layers = at.layers({ bundled: { a: tool('a', () => 'bundled') } })
    const ask = tool('ask', async () => {
      await at.write('home/tools/a.mjs', source)
      return String(await layers.reload('a'))
    })
    const ran = await runWith(layers, [[call('1', 'ask')], [call('2', 'a'), call('3', 'b')], 'done'], {
      tools: { ask },
    })
    expect(ran.results).toEqual(['deferred-between-turns', expect.stringContaining('Unknown tool: a'), 'b ran'])
    expect(offered(await runWith(layers, ['done']))).toEqual(['b'])
    expect(events(at)).toEqual(['init', 'activate', 'deactivate', 'dispose', ...after, 'ExtensionLifecycleFailed'])
    expect(at.audited.at(-1)).toMatchObject({ class: 'ExtensionsReloaded', tool: 'a', origin: { layer: 'global' } })
    expect(layers.list()[0]).toMatchObject({ name: 'a', state: 'disabled', diagnostic: expect.any(String) })
    await at.write('home/tools/a.mjs', toolFile('a', says('mended')))
    await layers.reload('a')
    expect((await runCalls(layers, [['a']])).results).toEqual(['mended'])
  })

  test('of a tool that never wants one is refused, and recorded', async () => {
    const at = await world()
    await at.write('home/tools/a.mjs', toolFile('a', { ...says('a'), reloadBehavior: `'never'` }))
    const layers = at.layers()
    await runWith(layers, ['done'])
    expect(await layers.reload('a')).toBe('refused')
    expect(events(at)).toContain('ExtensionReloadRefused')
    expect(events(at)).not.toContain('ExtensionReloaded')
    expect(await layers.reload()).toBe('reloaded-in-turn')
    expect((await runCalls(layers, [['a']])).results).toEqual(['a'])
  })

  test('of an unknown name is an error', async () => {
    const at = await world()
    await expect(at.layers().reload('missing')).rejects.toMatchObject({
      class: 'Validation',
      code: 'ExtensionNotFound',
    })
  })

  test('does not let in code that is not accepted: what runs goes on', async () => {
    const at = await world()
    await at.write('project/.libero/tools/a.mjs', toolFile('a', says('accepted')))
    const accepted = new Set<string>()
    const layers = at.layers({ isAccepted: ({ digest }) => accepted.size === 0 || accepted.has(digest) })
    await runWith(layers, ['done'])
    accepted.add(layers.list()[0]?.digest ?? '')
    await at.write('project/.libero/tools/a.mjs', toolFile('a', says('changed')))
    expect(await layers.reload('a')).toBe('refused')
    expect((await runCalls(layers, [['a']])).results).toEqual(['accepted'])
    expect(layers.diagnostics).toMatchObject([{ tool: 'a', message: expect.stringContaining('not accepted') }])
    expect(events(at)).toContain('ExtensionReloadRefused')
  })

  test('of everything finds what is new, gone, shadowed, and not trusted any more', async () => {
    const at = await world()
    let isTrusted = true
    await at.write('home/tools/a.mjs', toolFile('a', says('global a')))
    const gone = await at.write('home/tools/gone.mjs', toolFile('gone', says('gone')))
    await at.write('project/.libero/tools/p.mjs', toolFile('p', says('project p')))
    const layers = at.layers({ mayReadProject: async () => isTrusted })
    expect(offered(await runWith(layers, ['done']))).toEqual(['a', 'gone', 'p'])
    await rm(gone)
    await at.write('home/tools/new.mjs', toolFile('new', says('new')))
    await at.write('project/.libero/tools/a.mjs', toolFile('a', says('project a')))
    await layers.reload()
    const changed = await runCalls(layers, [['a'], ['new']])
    expect([offered(changed), changed.results]).toEqual([
      ['a', 'new', 'p'],
      ['project a', 'new'],
    ])
    isTrusted = false
    await layers.reload()
    const { results } = await runCalls(layers, [['a'], ['p']])
    expect(results).toEqual(['global a', expect.stringContaining('Unknown tool: p')])
  })
})
