import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import files, { copyFile, mkdir, symlink } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import type { ToolContract } from '../../src/layers/index.ts'
import { call, scripted, tool } from '../../src/testing/scripted.ts'
import { offered, runCalls, runWith, schema, toolFile, world } from './tool-layers-kit.ts'

const says = (text: string): Record<string, string> => ({ execute: `async () => ({ ok: true, value: '${text}' })` })

describe('which tool has a name', () => {
  test('B032 the project shadows the user’s folder, which shadows the package', async () => {
    const at = await world()
    const bundled = {
      a: tool('a', () => 'bundled a'),
      b: tool('b', () => 'bundled b'),
      c: tool('c', () => 'bundled c'),
    }
    for (const name of ['b', 'c']) await at.write(`home/tools/${name}.mjs`, toolFile(name, says(`global ${name}`)))
    await at.write('project/.libero/tools/c.mjs', toolFile('c', says('project c')))
    const layers = at.layers({ bundled })
    const { results } = await runCalls(layers, [['a'], ['b'], ['c']])
    expect(results).toEqual(['bundled a', 'global b', 'project c'])
    expect(layers.diagnostics).toEqual([])
  })

  test('the list says where each comes from, and whose place it takes', async () => {
    const at = await world()
    const own = await at.write('home/tools/read.mjs', toolFile('read'))
    const other = await at.write('project/.libero/tools/read.mjs', toolFile('read', { gated: 'false' }))
    const layers = at.layers({ bundled: { read: tool('read', () => '') } })
    const seen: unknown[] = []
    await runWith(layers, ['done'], {
      extensions: [layers, { name: 'look', start: (run) => void seen.push(run.tools.get('read')?.origin) }],
    })
    const digest = expect.stringMatching(/^[0-9a-f]{64}$/)
    const [project, global, bundled] = [
      { layer: 'project', path: other, digest },
      { layer: 'global', path: own, digest },
      { layer: 'bundled' },
    ]
    expect(layers.list()).toMatchObject([
      { name: 'read', ...project, state: 'active', shadows: [global, bundled] },
      { name: 'read', ...global, state: 'shadowed' },
      { name: 'read', ...bundled, state: 'shadowed' },
    ])
    expect(seen).toEqual([{ ...project, replaces: expect.arrayContaining(['global']) }])
  })

  test('takes the place of a tool that the program gave its agent', async () => {
    const at = await world()
    await at.write('home/tools/read.mjs', toolFile('read', says('from the file')))
    const { results } = await runCalls(at.layers(), [['read']], { tools: { read: tool('read', () => 'given') } })
    expect(results).toEqual(['from the file'])
  })

  test('a run that was given its own tools keeps to them', async () => {
    const at = await world()
    await at.write('home/tools/more.mjs', toolFile('more'))
    const layers = at.layers()
    const { createAgent } = await import('../../src/create-agent.ts')
    const provider = scripted('done')
    const agent = createAgent({ provider, extensions: [layers] })
    await agent.run({ prompt: 'go', tools: {} })
    await agent.destroy()
    expect(provider.requests[0]?.tools).toEqual([])
  })

  test('two files of one layer that want one name get nothing, and the layer below keeps it', async () => {
    const at = await world()
    await at.write('project/.libero/tools/one.mjs', toolFile('same', says('one')))
    await at.write('project/.libero/tools/two.mjs', toolFile('same', says('two')))
    const layers = at.layers({ bundled: { same: tool('same', () => 'bundled') } })
    const { results } = await runCalls(layers, [['same']])
    expect(results).toEqual(['bundled'])
    expect(layers.diagnostics.map(({ message }) => message)).toEqual(
      Array(2).fill('two tools of the project layer are named "same"; rename one of them'),
    )
  })

  test('B055 the order in which files were put there changes nothing', async () => {
    const files: [path: string, text: string][] = [
      ['home/tools/z.mjs', toolFile('alpha', says('global alpha'))],
      ['home/tools/a.mjs', toolFile('beta', says('global beta'))],
      ['home/tools/m/tool.json', JSON.stringify({ ...manifest, id: 'gamma' })],
      ['home/tools/m/main.mjs', toolFile('gamma', says('global gamma'))],
      ['project/.libero/tools/b.mjs', toolFile('alpha', says('project alpha'))],
      ['project/.libero/tools/broken.mjs', 'export default 3'],
    ]
    const calls = ['alpha', 'beta', 'gamma'].map((name) => [name] as const)
    const seen = new Set<string>()
    const orders = fc.shuffledSubarray(files, { minLength: files.length })
    await fc.assert(
      fc.asyncProperty(orders, async (order) => {
        const at = await world()
        for (const [path, text] of order) await at.write(path, text)
        const layers = at.layers()
        const ran = await runCalls(layers, calls)
        const shown = layers.list().map(({ name, layer, state }) => [name, layer, state])
        seen.add(JSON.stringify([ran.results, offered(ran), shown]))
      }),
      { numRuns: 5 },
    )
    expect([...seen]).toHaveLength(1)
    expect([...seen][0]).toContain('["project alpha","global beta","global gamma"],["alpha","beta","gamma"]')
  })
})

const manifest = {
  id: 'gamma',
  category: 'Tool',
  contractVersion: '1.0.0',
  requiredCoreVersion: '>=0.1.0',
  main: 'main.mjs',
}

describe('what cannot be a tool', () => {
  test('B002 is left out with a diagnostic, and the session goes on with the rest', async () => {
    const at = await world()
    await at.write('home/tools/good.mjs', toolFile('good'))
    await at.write('home/tools/throws.mjs', `throw new Error('no luck')`)
    await at.write('home/tools/syntax.mjs', 'export default {')
    await at.write('home/tools/nonsense.mjs', 'export const a = 1')
    await at.write('home/tools/incomplete.mjs', toolFile('incomplete', { gated: 'undefined' }))
    await at.write('home/tools/future.mjs', toolFile('future', { requiredCoreVersion: `'^9.0.0'` }))
    await at.write('home/tools/remote.mjs', toolFile('remote', { executor: `'remote'` }))
    await at.write(
      'home/tools/fails.mjs',
      toolFile('fails', { lifecycle: `{ init() { throw new Error('no port') } }` }),
    )
    await at.write('home/tools/big.mjs', `${toolFile('big')}//${'x'.repeat(4 * 1024 * 1024)}`)
    await at.write('elsewhere.mjs', toolFile('elsewhere'))
    await symlink(join(at.home, '../elsewhere.mjs'), join(at.home, 'tools/linked.mjs'))
    await at.write('home/tools/reaches.mjs', `import '../../elsewhere.mjs'\n${toolFile('reaches')}`)
    execFileSync('mkfifo', [join(at.home, 'tools/pipe.mjs')])
    await at.write('home/tools/folder/tool.json', '{ "id": "folder" }')
    await at.write('home/tools/notes.txt', 'not a tool')
    await at.write('home/tools/types.d.ts', 'export {}')
    const layers = at.layers()
    const ran = await runCalls(layers, [['good']])
    expect(ran.results).toEqual(['good ran'])
    expect(offered(ran)).toEqual(['good'])
    const said = Object.fromEntries(layers.diagnostics.map(({ tool, message }) => [tool, message]))
    expect(said).toEqual({
      throws: 'no luck',
      syntax: expect.any(String),
      nonsense: 'it must export a tool as its default; it exports "a"',
      incomplete: 'Validation/ContractInvalid: tool.gated is missing; it must be true or false',
      future: 'it needs version ^9.0.0 of the library; this is 0.1.0',
      remote: expect.stringContaining('only MCP clients'),
      fails: 'ExtensionHost/LifecycleFailed: init of fails failed: no port',
      big: expect.stringContaining('more than 1000 files and folders or 4 MiB'),
      linked: expect.stringContaining('leads out of'),
      reaches: expect.stringContaining('lies outside'),
      pipe: expect.stringContaining('is not a regular file'),
      folder: expect.stringContaining('must say "contractVersion" as a text'),
    })
    expect(at.audited).toMatchObject([
      { event: 'ExtensionLifecycleFailed', tool: 'fails', origin: { layer: 'global' } },
    ])
  })

  test('a contract that lacks fields is not taken for a tool of the AI SDK', async () => {
    const at = await world()
    const source = toolFile('bare').replace(/^ {2}(kind|lifecycle): .*\n/gm, '')
    await at.write('home/tools/bare.mjs', source)
    const layers = at.layers()
    await layers.warmup?.({} as never)
    expect(layers.diagnostics).toMatchObject([{ message: expect.stringContaining('tool.kind is missing') }])
  })

  test('a file that is changed while it is being loaded is not bound under a digest that is not its own', async () => {
    const at = await world()
    const source = `import { appendFileSync } from 'node:fs'\nappendFileSync(new URL(import.meta.url), '\\n')\n${toolFile('sly')}`
    await at.write('home/tools/sly.mjs', source)
    const layers = at.layers()
    expect(offered(await runWith(layers, ['done']))).toEqual([])
    expect(layers.diagnostics).toMatchObject([
      { message: expect.stringContaining('changed while it was being loaded') },
    ])
  })

  test('a folder is not loaded when its manifest says that it does not fit', async () => {
    const at = await world()
    const canary = join(at.home, 'canary')
    await at.write('home/tools/new/tool.json', JSON.stringify({ ...manifest, requiredCoreVersion: '^9.0.0' }))
    await at.write('home/tools/new/main.mjs', createsFile(canary))
    const layers = at.layers()
    await layers.warmup?.({} as never)
    expect(layers.diagnostics).toMatchObject([
      { tool: 'gamma', message: expect.stringContaining('needs version ^9.0.0') },
    ])
    expect(existsSync(canary)).toBe(false)
  })

  test('links inside the folder are followed, and so are imports', async () => {
    const at = await world()
    await at.write('home/tools/lib/words.mjs', `export const words = 'from a neighbour'`)
    const source = toolFile('speak', { execute: 'async () => ({ ok: true, value: words })' })
    await at.write('home/tools/lib/speak.mjs', `import { words } from './words.mjs'\n${source}`)
    await symlink('lib/speak.mjs', join(at.home, 'tools/speak.mjs'))
    const { results } = await runCalls(at.layers(), [['speak']])
    expect(results).toEqual(['from a neighbour'])
  })
})

const createsFile = (path: string): string =>
  `import { writeFileSync } from 'node:fs'\nwriteFileSync(${JSON.stringify(path)}, '')\n${toolFile('canary')}`

describe('trust', () => {
  test('TR-01 a project’s tool is not even imported before the project is trusted', async () => {
    const at = await world()
    const canary = join(at.home, 'canary')
    await at.write('project/.libero/tools/canary.mjs', createsFile(canary))
    for (const mayReadProject of [
      async () => false,
      async () => {
        throw new Error('no answer')
      },
    ]) {
      const layers = at.layers({ mayReadProject })
      const ran = await runWith(layers, ['done'])
      expect([offered(ran), layers.list(), layers.diagnostics]).toEqual([[], [], []])
    }
    expect(existsSync(canary)).toBe(false)
    const { results } = await runCalls(at.layers(), [['canary']])
    expect([results, existsSync(canary)]).toEqual([['canary ran'], true])
  })

  test('the folder of a project that is not trusted is not listed, nor anything in it opened', async () => {
    const at = await world()
    await at.write('project/.libero/tools/a.mjs', toolFile('a'))
    const spies = (['readdir', 'open', 'realpath', 'stat'] as const).map((name) => vi.spyOn(files, name))
    syncBuiltinESMExports()
    const touched = (): string[] => spies.flatMap(({ mock }) => mock.calls.map(([path]) => String(path)))
    try {
      await at.layers({ mayReadProject: async () => false }).warmup?.({} as never)
      expect(touched().filter((path) => path.startsWith(at.home))).not.toEqual([])
      expect(touched().filter((path) => path.startsWith(at.project))).toEqual([])
      await at.layers().warmup?.({} as never)
      expect(touched().filter((path) => path.startsWith(at.project))).not.toEqual([])
    } finally {
      for (const spy of spies) spy.mockRestore()
      syncBuiltinESMExports()
    }
  })

  test('a project is not trusted unless a person says so', async () => {
    const at = await world()
    await at.write('project/.libero/tools/a.mjs', toolFile('a'))
    const { layeredTools } = await import('../../src/layers/index.ts')
    const ran = await runWith(layeredTools({ home: at.home, projectRoot: at.project }), ['done'])
    expect(offered(ran)).toEqual([])
  })

  test('the folders above a project are not looked at', async () => {
    const at = await world()
    await at.write('project/.libero/tools/a.mjs', toolFile('a'))
    await mkdir(join(at.project, 'inner'))
    const ran = await runWith(at.layers({ projectRoot: join(at.project, 'inner') }), ['done'])
    expect(offered(ran)).toEqual([])
  })

  test('code that is not accepted is pending, and none of it runs', async () => {
    const at = await world()
    const canary = join(at.home, 'canary')
    const path = await at.write('project/.libero/tools/canary.mjs', createsFile(canary))
    await at.write('home/tools/old.mjs', toolFile('old'))
    const asked: object[] = []
    const layers = at.layers({
      isAccepted: (item) => {
        asked.push(item)
        return item.layer === 'global'
      },
    })
    const ran = await runWith(layers, ['done'])
    expect(offered(ran)).toEqual(['old'])
    expect(layers.list()[0]).toMatchObject({
      name: 'canary',
      state: 'pending',
      diagnostic: expect.stringContaining('not accepted yet'),
    })
    expect(asked[1]).toMatchObject({
      name: 'canary',
      layer: 'project',
      path,
      digest: expect.stringMatching(/^[0-9a-f]{64}$/),
    })
    expect(existsSync(canary)).toBe(false)
  })

  test('trust in certain code is for that code only', async () => {
    const at = await world()
    await at.write('project/.libero/tools/a.mjs', toolFile('a'))
    await at.write('project/.libero/tools/b.mjs', toolFile('b'))
    const all = at.layers()
    await runWith(all, ['done'])
    const digests = all.list().flatMap(({ name, digest }) => (name === 'a' && digest ? [digest] : []))
    const ran = await runWith(at.layers({ mayReadProject: async () => ({ digests }) }), ['done'])
    expect(offered(ran)).toEqual(['a'])
  })

  test('a neighbour that changes is another digest', async () => {
    const at = await world()
    await at.write('home/tools/a.mjs', `import './lib/b.mjs'\n${toolFile('a')}`)
    const digests: unknown[] = []
    for (const text of ['export {}', 'export const x = 1', 'export {}']) {
      await at.write('home/tools/lib/b.mjs', text)
      const layers = at.layers({ isAccepted: ({ digest }) => digests.push(digest) < 0 })
      await layers.warmup?.({} as never)
    }
    expect(digests[0]).not.toBe(digests[1])
    expect(digests[0]).toBe(digests[2])
  })
})

describe('configuration', () => {
  test('B004 a tool that is switched off is not offered, whichever layer it is of, nor what it shadows', async () => {
    const at = await world()
    await at.write('home/tools/mine.mjs', toolFile('mine'))
    await at.write('home/tools/stays.mjs', toolFile('stays'))
    await at.write(
      'project/.libero/tools/theirs/tool.json',
      JSON.stringify({ ...manifest, id: 'read', config: { enabled: false } }),
    )
    await at.write('project/.libero/tools/theirs/main.mjs', toolFile('read'))
    const off = { enabled: false }
    const bundled = { grep: tool('grep', () => ''), read: tool('read', () => '') }
    const layers = at.layers({ bundled, config: { mine: off, grep: off, given: off } })
    const ran = await runWith(layers, ['done'], {
      tools: { given: tool('given', () => ''), read: tool('read', () => '') },
    })
    expect(offered(ran)).toEqual(['stays'])
    expect(layers.list().map(({ name, state }) => `${name} ${state}`)).toEqual([
      'grep off',
      'mine off',
      'read off',
      'read shadowed',
      'stays active',
    ])
  })

  test('a tool reads its own, checked by its own schema', async () => {
    const at = await world()
    const fields = {
      configSchema: schema(`greeting: { type: 'string' }`),
      execute: `async (_, host) => ({ ok: true, value: host.config.readOwn() })`,
    }
    await at.write('home/tools/greet.mjs', toolFile('greet', fields))
    await at.write('home/tools/strict.mjs', toolFile('strict', fields))
    const layers = at.layers({ config: { greet: { greeting: 'hi', timeoutMs: 5 }, strict: { farewell: 'bye' } } })
    const { results } = await runCalls(layers, [['greet'], ['strict']])
    expect(JSON.parse(results[0]!)).toEqual({ enabled: true, greeting: 'hi', timeoutMs: 5 })
    expect(results[1]).toContain('Unknown tool: strict')
    expect(layers.diagnostics).toMatchObject([
      { tool: 'strict', message: expect.stringContaining('its configuration does not fit') },
    ])
  })
})

describe('tools of the AI SDK', () => {
  test('run as they are, under the name of their file', async () => {
    const at = await world()
    const zod = pathToFileURL(fileURLToPath(import.meta.resolve('zod'))).href
    await at.write(
      'home/tools/shout.mjs',
      `import { z } from ${JSON.stringify(zod)}
       export const shout = { description: 'Shouts.', inputSchema: z.object({ text: z.string().min(1), times: z.number().default(1) }),
         execute: async ({ text, times }, { toolCallId, messages, abortSignal }) =>
           ({ text: text.toUpperCase().repeat(times), toolCallId, messages, aborted: abortSignal.aborted }) }`,
    )
    await at.write(
      'home/tools/old.mjs',
      `export default { description: 'Old.', parameters: { jsonSchema: { type: 'object', properties: { n: { type: 'number' } } },
         validate: (value) => value.n > 0 ? { success: true, value } : { success: false, error: new Error('n is not positive') } },
         async *execute({ n }) { yield 'counting'; yield 'counted ' + n } }`,
    )
    const layers = at.layers()
    const ran = await runCalls(layers, [
      ['shout', { text: 'hey' }],
      ['shout', { text: '' }],
      ['old', { n: 2 }],
      ['old', { n: -1 }],
    ])
    expect(layers.diagnostics).toEqual([])
    expect(JSON.parse(ran.results[0]!)).toEqual({ text: 'HEY', toolCallId: 'c0', messages: [], aborted: false })
    expect(ran.results[1]).toContain('ToolTerminal/InputInvalid')
    expect(ran.results.slice(2)).toEqual(['counted 2', 'Tool error: ToolTerminal/InputInvalid: n is not positive'])
    expect(ran.provider.requests[0]?.tools[1]).toMatchObject({
      name: 'shout',
      description: 'Shouts.',
      inputSchema: { type: 'object', required: ['text'] },
    })
  })

  test('are always asked for, by one key for all calls', async () => {
    const at = await world()
    await at.write('home/tools/plain.mjs', `export default { inputSchema: { type: 'object' }, execute: () => 1 }`)
    const layers = at.layers()
    let seen: unknown
    const look = {
      name: 'look',
      start: (run: { tools: { get(name: string): unknown } }) => void (seen = run.tools.get('plain')),
    }
    await runWith(layers, ['done'], { extensions: [layers, look] })
    expect(seen).toMatchObject({ gated: true, origin: { layer: 'global' } })
    expect((seen as ToolContract).deriveApprovalKey({ any: 'input' })).toBe('plain')
  })
})

test('the examples can be dropped into the user’s folder', async () => {
  const at = await world()
  const examples = fileURLToPath(new URL('../../examples/tools', import.meta.url))
  for (const name of ['remember.ts', 'celsius.ts']) await copyFile(join(examples, name), join(at.home, 'tools', name))
  const layers = at.layers({ config: { remember: { most: 2 } } })
  const note = (text: string): [string, { note: string }] => ['remember', { note: text }]
  const { results } = await runCalls(layers, [
    note('milk'),
    note('eggs'),
    note('flour'),
    ['celsius', { fahrenheit: 100 }],
  ])
  expect(layers.diagnostics).toEqual([])
  expect(results).toEqual([
    '1. milk',
    '1. milk\n2. eggs',
    'Tool error: ToolTerminal/Forbidden: 2 notes are enough',
    '{"celsius":37.8}',
  ])
})

test('B010 a tool in a file and one of an MCP server are called the same way', async () => {
  const at = await world()
  await at.write('home/tools/near.mjs', toolFile('near'))
  const far = tool('mcp_srv_far', () => 'far ran', { mcp: { server: 'srv', tool: 'far' } })
  const { results } = await runWith(at.layers(), [[call('1', 'near'), call('2', 'mcp_srv_far')], 'done'], {
    mcpServers: [{ name: 'srv', transport: 'stdio' }],
    mcpConnector: async () => ({ tools: { mcp_srv_far: far }, close: async () => {} }),
  })
  expect(results).toEqual(['near ran', 'far ran'])
})
