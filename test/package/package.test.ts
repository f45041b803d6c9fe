import { existsSync, readFileSync } from 'node:fs'
import { cp, mkdir, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { inAscii } from '../../scripts/in-ascii.ts'
import { rounds } from '../soak.ts'
import { browserBundles } from './browser-bundles.ts'
import { bundledApplications } from './bundled-application.ts'
import { type InstalledPackage, installPackage, root, run } from './installed-package.ts'
import { publicTypes } from './public-types.ts'
import { otherRuntimes } from './runtimes.ts'
import { tarball } from './tarball.ts'

const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  exports: Record<string, string | { types: string; default: string }>
}
const targets = Object.entries(exports).flatMap(([subpath, target]) =>
  typeof target === 'string' ? [] : [{ specifier: `libero${subpath.slice(1)}`, ...target }],
)

let installed: InstalledPackage
beforeAll(async () => {
  installed = await installPackage()
}, 180_000)
afterAll(() => rm(installed.folder, { recursive: true, force: true }))

describe('the build', () => {
  test('plain node finds the root and every subpath from inside the checkout', async () => {
    const script = `
      const specifiers = ${JSON.stringify(targets.map(({ specifier }) => specifier))}
      const found = specifiers.map((specifier) => import.meta.resolve(specifier))
      for (const specifier of specifiers) await import(specifier)
      console.log(JSON.stringify(found))
    `
    const { output } = await node(root, '--input-type=module', '--eval', script)
    const urls = targets.map((target) => pathToFileURL(join(root, target.default)).href)
    expect(output).toBe(`${JSON.stringify(urls)}\n`)
  })

  test('the root loads a few files and no part of Node', async () => {
    const script = `
      import { isBuiltin, registerHooks } from 'node:module'
      const urls = []
      registerHooks({ load: (url, context, next) => (urls.push(url), next(url, context)) })
      const { getBuiltinModule } = process
      process.getBuiltinModule = (name) => (urls.push(name), getBuiltinModule(name))
      await import('libero')
      console.log(urls.filter(isBuiltin).join(), urls.length <= 6 ? 'few' : urls.join())
    `
    expect(await node(root, '--input-type=module', '--eval', script)).toEqual({ code: 0, output: ' few\n' })
  })

  test('A236 an import of the root and of the providers parses at most 256,000 bytes', async () => {
    const script = `
      import { readFileSync } from 'node:fs'
      import { registerHooks } from 'node:module'
      let bytes = 0
      registerHooks({
        load(url, context, next) {
          bytes += readFileSync(new URL(url)).length
          return next(url, context)
        },
      })
      await import('libero')
      await import('libero/providers')
      console.log(bytes)
    `
    const { output } = await node(root, '--input-type=module', '--eval', script)
    expect(Number(output)).toBeGreaterThan(100_000)
    expect(Number(output)).toBeLessThanOrEqual(256_000)
  })

  test('a run after a warmup loads no file', async () => {
    const script = `
      import { registerHooks } from 'node:module'
      import { createAgent } from 'libero'
      const files = []
      registerHooks({
        load(url, context, next) {
          if (url.startsWith('file:')) files.push(url)
          return next(url, context)
        },
      })
      const reply = { type: 'reply', content: [{ type: 'text', text: 'done' }], usage: {}, stop: 'end' }
      const provider = { meta: { name: 'inline', defaultModel: 'm' }, async *stream() { yield reply } }
      const agent = createAgent({ provider })
      await agent.warmup()
      const warm = files.splice(0).length
      console.log(warm, (await agent.run({ prompt: 'go' })).text, files.join())
    `
    expect(await node(root, '--input-type=module', '--eval', script)).toEqual({ code: 0, output: '2 done \n' })
  })

  test('what was built runs', async () => {
    const script = `
      import { createAgent } from 'libero'
      import { call, scripted, tool } from 'libero/testing'
      const provider = scripted([call('c', 'echo', {})], 'done')
      const agent = createAgent({ provider, tools: { echo: tool('echo', () => 'hi') } })
      const { text } = await agent.run({ prompt: 'go' })
      console.log(text, agent.turns.length)
    `
    expect(await node(root, '--input-type=module', '--eval', script)).toEqual({ code: 0, output: 'done 4\n' })
  })
})

bundledApplications(() => installed, rounds(1, Infinity))
browserBundles(() => installed)
tarball(() => installed, targets)
otherRuntimes(() => installed)
publicTypes(targets)

test('a build that fails says so and leaves no dist behind', async () => {
  const project = join(installed.folder, 'broken')
  await mkdir(project)
  await mkdir(join(project, 'src'))
  await mkdir(join(project, 'dist'))
  await cp(join(root, 'scripts'), join(project, 'scripts'), { recursive: true })
  await symlink(join(root, 'node_modules'), join(project, 'node_modules'))
  await writeFile(join(project, 'package.json'), '{ "type": "module", "exports": {} }')
  await writeFile(join(project, 'src/index.ts'), 'export const n: number = "text"\n')
  const compilerOptions = { rootDir: 'src', outDir: 'dist', types: [] }
  await writeFile(join(project, 'tsconfig.build.json'), JSON.stringify({ compilerOptions, include: ['src'] }))
  const { code, output } = await node(project, 'scripts/build.ts')
  expect(code).toBe(1)
  expect(output).toMatch(/TS2322[\s\S]*build: failed/)
  expect(existsSync(join(project, 'dist'))).toBe(false)
})

test('what would mean something else in ASCII is not built', () => {
  expect(inAscii('const x = "a’😀"; /[😀]/u')).toBe('const x = "a\\u2019\\ud83d\\ude00"; /[\\ud83d\\ude00]/u')
  expect(() => inAscii('String.raw`a ’`')).toThrow('cannot be written in ASCII: raw`a ’')
  expect(() => inAscii('/\\’/')).toThrow('cannot be written in ASCII: \\’')
})

/** Runs plain node; gives its exit code and everything it printed. */
async function node(cwd: string, ...args: string[]): Promise<{ code: number; output: string }> {
  const { code, output } = await run(cwd, process.execPath, ...args)
  return { code, output }
}
