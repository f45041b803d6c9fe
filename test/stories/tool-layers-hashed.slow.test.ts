import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'vitest'
import { testInTurns } from '../soak.ts'
import { toolFile, type World, world } from './tool-layers-kit.ts'

const test = testInTurns(2)

const source = (path: string): string => JSON.stringify(new URL(`../../src/${path}`, import.meta.url).href)

/** Loads the tools of a project in plain Node, where modules are loaded by Node itself, and says what became of them. */
async function load({ home, project }: World, swap?: { readonly path: string; readonly text: string }) {
  const program = `
    import { writeFileSync } from 'node:fs'
    import { layeredTools } from ${source('layers/index.ts')}
    const [home, projectRoot, swap] = JSON.parse(process.argv[1])
    const layers = layeredTools({ home, projectRoot, mayReadProject: async () => true, isAccepted() {
      if (swap) writeFileSync(swap.path, swap.text)
      return true
    } })
    await layers.warmup({})
    console.log(JSON.stringify(layers.list().map(({ state, diagnostic = '' }) => [state, diagnostic])))
  `
  const args = ['--conditions=libero-source', '--input-type=module', '--eval', program]
  const { stdout } = await promisify(execFile)(process.execPath, [...args, JSON.stringify([home, project, swap])])
  return JSON.parse(stdout) as [state: string, diagnostic: string][]
}

const evil = (canary: string, ending = 'mjs'): string =>
  ending === 'cjs'
    ? `require('node:fs').writeFileSync(${JSON.stringify(canary)}, '')`
    : `import { writeFileSync } from 'node:fs'\nwriteFileSync(${JSON.stringify(canary)}, '')\n`

test('TR-06 a tool that is swapped between the look and the import does not run', async () => {
  const at = await world()
  const canary = join(at.home, 'canary')
  const path = await at.write('project/.libero/tools/a.mjs', toolFile('a'))
  expect(await load(at, { path, text: evil(canary) + toolFile('a') })).toEqual([
    ['unusable', expect.stringContaining('changed while it was being loaded')],
  ])
  expect(existsSync(canary)).toBe(false)
})

test.each([
  ['b.mjs', `import './lib/b.mjs'`],
  ['b.ts', `import './lib/b.ts'`],
  ['b.cjs', `import './lib/b.cjs'`],
  [
    'b.cjs',
    `import { createRequire } from 'node:module'\nconst require = createRequire(import.meta.url)\nrequire('./lib/b.cjs')`,
  ],
])('TR-06 neither does a neighbour: %s by %s', async (file, line) => {
  const at = await world()
  const canary = join(at.home, 'canary')
  const path = await at.write(`project/.libero/tools/lib/${file}`, '')
  await at.write('project/.libero/tools/a.mjs', `${line}\n${toolFile('a')}`)
  expect(await load(at)).toEqual([['active', '']])
  const [[state, why] = []] = await load(at, { path, text: evil(canary, file.slice(2)) })
  expect([existsSync(canary), state, why]).toEqual([false, 'unusable', expect.stringContaining('changed while')])
})

test.each([
  ['an escape', () => `import './lib/\\x65vil.mjs'`],
  ['a comment', () => `import /* x */ './lib/evil.mjs'`],
  ['an address', (folder: string) => `import 'file://${folder}/lib/evil.mjs'`],
  ['an address behind a blank', (folder: string) => `import ' file://${folder}/lib/evil.mjs'`],
  ['an absolute path', (folder: string) => `import '${folder}/lib/evil.mjs'`],
  ['a name of package.json', () => `import '#evil'`],
  ['a path put together', () => `await import('./lib/' + 'evil.mjs')`],
  [
    'a required path',
    () => `import { createRequire } from 'node:module'\ncreateRequire(import.meta.url)('./li' + 'b/evil.cjs')`,
  ],
])('TR-06 a neighbour that hides behind %s is refused and does not run', async (_, line) => {
  const at = await world()
  const canary = join(at.home, 'canary')
  await at.write('project/.libero/tools/lib/evil.mjs', evil(canary))
  await at.write('project/.libero/tools/lib/evil.cjs', evil(canary, 'cjs'))
  await at.write('project/package.json', JSON.stringify({ imports: { '#evil': './.libero/tools/lib/evil.mjs' } }))
  await at.write('project/.libero/tools/a.mjs', `${line(join(at.project, '.libero/tools'))}\n${toolFile('a')}`)
  const [[state, why] = []] = await load(at)
  expect([existsSync(canary), state, why]).toEqual([false, 'unusable', expect.stringContaining('not hashed before')])
})
