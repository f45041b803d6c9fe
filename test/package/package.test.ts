import { existsSync, readFileSync } from 'node:fs'
import { cp, mkdir, readdir, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { inAscii } from '../../scripts/in-ascii.ts'
import { browserBundles } from './browser-bundles.ts'
import { bundledApplications } from './bundled-application.ts'
import { type InstalledPackage, installPackage, root, run } from './installed-package.ts'

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

  test('every subpath has its types', () => {
    expect(targets.map(({ types }) => types).filter((types) => !existsSync(join(root, types)))).toEqual([])
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

  test('a program that depends on it compiles against its types', async () => {
    const program = join(installed.folder, 'program')
    await mkdir(join(program, 'node_modules'), { recursive: true })
    await symlink(root, join(program, 'node_modules/libero'))
    const imports = targets.map(({ specifier }, i) => `import * as m${i} from '${specifier}'\nexport { m${i} }`)
    const use = `import { createAgent } from 'libero'
import { scripted } from 'libero/testing'
import type { Agent } from 'libero/types'
export const agent: Agent = createAgent({ provider: scripted('hi') })
// @ts-expect-error a provider is required, unless the types were lost on the way
createAgent({})`
    await writeFile(join(program, 'main.ts'), [...imports, use].join('\n'))
    await writeFile(join(program, 'package.json'), '{ "type": "module" }')
    const options = {
      module: 'nodenext',
      target: 'es2024',
      lib: ['es2024', 'dom'],
      strict: true,
      noEmit: true,
      types: [],
    }
    await writeFile(join(program, 'tsconfig.json'), JSON.stringify({ compilerOptions: options }))
    expect(await node(program, join(root, 'node_modules/typescript/bin/tsc'))).toEqual({ code: 0, output: '' })
  })

  test('tests are left out', async () => {
    const files = await readdir(join(root, 'dist'), { recursive: true })
    expect(files.filter((file) => /\.test\.|(?<!\.d)\.ts$/.test(file))).toEqual([])
    expect(files).toEqual(expect.arrayContaining(['index.js', 'index.d.ts', join('core', 'loop.d.ts')]))
  })
})

bundledApplications(() => installed)
browserBundles(() => installed)

test('a build that fails says so and leaves no dist behind', async () => {
  const project = join(installed.folder, 'broken')
  await mkdir(project)
  await mkdir(join(project, 'src'))
  await mkdir(join(project, 'dist'))
  await cp(join(root, 'scripts'), join(project, 'scripts'), { recursive: true })
  await symlink(join(root, 'node_modules'), join(project, 'node_modules'))
  await writeFile(join(project, 'package.json'), '{ "type": "module" }')
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
