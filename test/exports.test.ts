import { execFile } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { importsOf, loadedBy, readSources, type Sources } from './import-graph.ts'
import { sampleOf } from './soak.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
// The packages of the page are built into its files.
const sources = new Map([...readSources(join(root, 'src'))].filter(([file]) => !file.startsWith('web/page/')))
const manifest = readJson<Manifest>('package.json')
const entryPoints = Object.entries(manifest.exports).filter(([subpath]) => !subpath.endsWith('.json'))

/** What the root gives at run time. A name that is added or taken away is a change of the public surface. */
const rootNames = [
  'AgentAbortedError',
  'AgentAuthError',
  'AgentBudgetError',
  'AgentContextExceededError',
  'AgentError',
  'AgentPromptTooLongError',
  'AgentProviderError',
  'AgentQuotaError',
  'AgentRateLimitError',
  'LeaseLostError',
  'McpOAuthProvider',
  'SessionBusyError',
  'SessionNotFoundError',
  'SessionParkedError',
  'StoreError',
  'autoDetectAndConvert',
  'basicTools',
  'composePresets',
  'connectMcpServers',
  'createAgent',
  'createFileMapStore',
  'createInteractionTool',
  'createJsonlStore',
  'createMemoryMcpCredentialStore',
  'createMemoryStore',
  'createProcessContext',
  'createRemoteStore',
  'createSandboxContext',
  'createSession',
  'createSpawnTool',
  'createSqliteStore',
  'createToolSearchTool',
  'definePreset',
  'defineSkill',
  'defineTool',
  'flattenTurns',
  'fromAnthropic',
  'fromOpenAI',
  'glob',
  'grep',
  'loadSession',
  'loginMcpServer',
  'openSession',
  'spawn',
  'statsByModel',
  'systemOf',
  'toAnthropic',
  'toOpenAI',
  'toolOutputByteLength',
  'toolResultToText',
  'validateToolArgs',
  'zodToJsonSchema',
]

const maxFiles = 70

/** Worth loading only for those who use them. */
const heavy = /sqlite|child_process|worker_threads|dockerode|postgres|^pg$|modelcontextprotocol|cfworker|dbos/

describe('the public surface', () => {
  test.each(entryPoints)('%s names a source, its types and its code in the same place', (_, target) => {
    const source = target['libero-source']
    expect(existsSync(join(root, source))).toBe(true)
    const place = source.replace('./src/', './dist/').replace(/\.ts$/, '')
    expect(target).toEqual({ 'libero-source': source, types: `${place}.d.ts`, default: `${place}.js` })
    // Conditions are tried in order: behind `default` the source would never be found.
    expect(Object.keys(target)).toEqual(['libero-source', 'types', 'default'])
  })

  test('A236 every entry point can be imported alone', async () => {
    const some = sampleOf(entryPoints, 8)
    const loaded = await Promise.all(some.map(([subpath]) => loadAlone(specifierOf(subpath))))
    const files = loaded.map(({ urls }) => urls[0]?.replace(new URL('..', import.meta.url).href, './'))
    expect(files).toEqual(some.map(([, target]) => target['libero-source']))
  })

  test('the root gives exactly the names on the list', async () => {
    const { names } = await loadAlone('libero')
    expect(names).toEqual(rootNames)
  })

  test('A236 the root entry is light: few files, nothing heavy', async () => {
    const { urls } = await loadAlone('libero')
    const files = urls.filter((url) => url.startsWith('file:'))
    expect(files.length).toBeLessThanOrEqual(maxFiles)
    // The folder of the repository may have any name.
    const names = urls.map((url) => url.replace(new URL('..', import.meta.url).href, './'))
    expect(names.filter((name) => heavy.test(name))).toEqual([])
  })

  test('the root entry loads nothing of plugins and workflows, and these load no wiki, no cron and no scripts before they are used', async () => {
    const { urls } = await loadAlone('libero')
    expect(urls.filter((url) => /\/src\/(plugins|workflow|chat)\//.test(url))).toEqual([])
    for (const subpath of ['libero/plugins', 'libero/workflow']) {
      const { urls: theirs } = await loadAlone(subpath)
      expect(theirs.filter((url) => /\/node_modules\/(tiddlywiki|croner|zx|postgres|dockerode)\//.test(url))).toEqual(
        [],
      )
    }
  })

  test('the root entry loads what its static imports say, and no package', async () => {
    const { urls } = await loadAlone('libero')
    const { files, others } = loadedBy('index.ts', sources)
    const asUrl = (file: string) => new URL(`../src/${file}`, import.meta.url).href
    expect(new Set(urls.filter((url) => url.startsWith('file:')))).toEqual(new Set([...files].map(asUrl)))
    expect([...others].filter((specifier) => !isBuiltin(specifier))).toEqual([])
  })

  test.each(['libero', 'libero/chat/view-models', 'libero/client'])(
    '%s loads no part of Node, so that it can be bundled for anywhere',
    async (entry) => {
      const { urls } = await loadAlone(entry)
      expect(urls.filter((url) => isBuiltin(url))).toEqual([])
    },
  )
})

test('core loads and runs where there is nothing of Node', async () => {
  const files = [...sources.keys()].filter((file) => file.startsWith('core/')).map((file) => `./src/${file}`)
  const script = `
    import { isBuiltin, registerHooks } from 'node:module'
    registerHooks({
      resolve(specifier, context, next) {
        if (isBuiltin(specifier)) throw new Error(specifier + ' is blocked, for ' + context.parentURL)
        return next(specifier, context)
      },
    })
    for (const name of ['process', 'Buffer', 'global', 'setImmediate', 'clearImmediate']) delete globalThis[name]
    for (const file of ${JSON.stringify(files)}) await import(file)

    const { assembleAgent } = await import('./src/core/agent.ts')
    const usage = { input: 1, output: 1 }
    const replies = [
      { type: 'reply', content: [{ type: 'tool_call', id: 'c', name: 'echo', input: "{'word': 'hi',}" }], usage, stop: 'tool_use' },
      { type: 'reply', content: [{ type: 'text', text: 'done' }], usage, stop: 'end' },
    ]
    const provider = {
      meta: { name: 'inline', defaultModel: 'm' },
      async *stream() { yield replies.shift() },
    }
    const inputSchema = { type: 'object', properties: { word: { type: 'string' } } }
    const echo = { spec: { name: 'echo', description: '', inputSchema }, execute: async ({ word }) => word }
    const agent = assembleAgent({ provider, tools: { echo } })
    const { text } = await agent.run({ prompt: 'go' })
    console.log(JSON.stringify({ text, result: agent.turns[2].content[0].output }))
  `
  expect(JSON.parse(await run(script))).toEqual({ text: 'done', result: 'hi' })
})

describe('dependencies', () => {
  const { dependencies = {}, optionalDependencies = {}, peerDependencies = {} } = manifest
  const lock = readJson<{ packages: Record<string, Needs> }>('package-lock.json')

  test('the hard ones are at most 10 packages and 6 MB', () => {
    const installed = installedFor(Object.keys(dependencies), lock.packages)
    expect(installed).toEqual(expect.arrayContaining(Object.keys(dependencies).map((name) => `node_modules/${name}`)))
    expect(installed.length).toBeLessThanOrEqual(10)
    const bytes = installed.map((folder) => sizeOf(join(root, folder))).reduce((sum, size) => sum + size, 0)
    expect(bytes).toBeLessThanOrEqual(6 * 1024 * 1024)
  })

  test('what needs what is followed to the end', () => {
    const packages: Record<string, Needs> = {
      'node_modules/a': { dependencies: { b: '1', c: '1' } },
      'node_modules/b': { dependencies: { c: '2' }, optionalDependencies: { d: '1' }, peerDependencies: { a: '1' } },
      'node_modules/b/node_modules/c': {},
      'node_modules/c': {},
      'node_modules/d': {},
      'node_modules/e': {},
    }
    const needed = [
      'node_modules/a',
      'node_modules/b',
      'node_modules/b/node_modules/c',
      'node_modules/c',
      'node_modules/d',
    ]
    expect(installedFor(['a'], packages)).toEqual(needed)
  })

  test('every package that the sources import is declared', () => {
    const declared = { ...dependencies, ...optionalDependencies, ...peerDependencies }
    const undeclared = packagesIn(sources, () => true).filter((name) => !Object.hasOwn(declared, name))
    expect(undeclared.sort()).toEqual(builtIntoThreads)
  })

  test('only hard ones are imported before they are needed', () => {
    // `libero/otel` is for programs that have OpenTelemetry, and nothing else loads it.
    const isFree = (file: string): boolean => file.endsWith('-thread.ts') || file.startsWith('otel/')
    const outsideThreads: Sources = new Map([...sources].filter(([file]) => !isFree(file)))
    const early = packagesIn(outsideThreads, (kind) => kind === 'static').filter(
      (name) => !Object.hasOwn(dependencies, name) && !builtIntoThreads.includes(name),
    )
    expect(early).toEqual([])
    const planted: Sources = new Map([['tools/x.ts', `import a from '@scope/optional/sub'\nawait import('later')`]])
    expect(packagesIn(planted, (kind) => kind === 'static')).toEqual(['@scope/optional'])
  })
})

/** `scripts/thread-code.ts` puts these into the code of a thread, so that they need not be installed. */
const builtIntoThreads = ['html-to-text', 'unbash']

interface Manifest extends Needs {
  readonly exports: Record<string, { 'libero-source': string; types: string; default: string }>
}

interface Needs {
  readonly dependencies?: Record<string, string>
  readonly optionalDependencies?: Record<string, string>
  readonly peerDependencies?: Record<string, string>
}

function readJson<T>(file: string): T {
  return JSON.parse(readFileSync(join(root, file), 'utf8'))
}

const specifierOf = (subpath: string): string => `libero${subpath.slice(1)}`

/** Runs a module in a process of its own, with the sources as the package; gives what it printed. */
async function run(script: string): Promise<string> {
  const args = ['--conditions=libero-source', '--input-type=module', '--eval', script]
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: root })
  return stdout
}

/** Everything that Node loads for one import in a fresh process, in order, and the names it gives. */
async function loadAlone(specifier: string): Promise<{ names: string[]; urls: string[] }> {
  const script = `
    import { registerHooks } from 'node:module'
    const urls = []
    registerHooks({ load: (url, context, next) => (urls.push(url), next(url, context)) })
    const names = Object.keys(await import('${specifier}'))
    console.log(JSON.stringify({ names, urls }))
  `
  return JSON.parse(await run(script))
}

/** Packages by their folder, with all that they need, as npm laid them out. */
function installedFor(names: readonly string[], packages: Record<string, Needs>): string[] {
  const found = new Set<string>()
  const visit = (name: string, from: string): void => {
    const folder = nearest(name, from, packages)
    if (folder === undefined || found.has(folder)) return
    found.add(folder)
    const { dependencies, optionalDependencies, peerDependencies } = packages[folder]!
    for (const next of Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies }))
      visit(next, folder)
  }
  for (const name of names) visit(name, '')
  return [...found].sort()
}

/** Where Node finds a package: in the folder itself or in one above it. */
function nearest(name: string, from: string, packages: Record<string, Needs>): string | undefined {
  for (let folder = from; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf('/node_modules/')))) {
    const candidate = folder === '' ? `node_modules/${name}` : `${folder}/node_modules/${name}`
    if (packages[candidate]) return candidate
    if (folder === '') return undefined
  }
}

function sizeOf(folder: string): number {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((file) => statSync(join(folder, file)))
  return files.reduce((sum, file) => sum + (file.isFile() ? file.size : 0), 0)
}

/** The packages that are imported in one of the ways asked for. */
function packagesIn(sources: Sources, isWanted: (kind: string) => boolean): string[] {
  const specifiers = [...sources.values()].flatMap(importsOf).flatMap(({ specifier, kind }) => {
    const isPackage = specifier !== undefined && !specifier.startsWith('.') && !isBuiltin(specifier)
    return isPackage && isWanted(kind) ? [specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/')] : []
  })
  return [...new Set(specifiers)]
}

test('DR09 the version of the package is that of the program, and the changelog and the release procedure know it', () => {
  const { version } = readJson<{ version: string }>('package.json')
  expect(readFileSync(join(root, 'src/core/version.ts'), 'utf8')).toContain(`'${version}'`)
  expect(readFileSync(join(root, 'CHANGELOG.md'), 'utf8')).toContain(`## ${version}`)
  const releasing = readFileSync(join(root, 'RELEASING.md'), 'utf8')
  const { scripts, files } = readJson<{ scripts: Record<string, string>; files: string[] }>('package.json')
  for (const [, script = ''] of releasing.matchAll(/`npm run ([\w-]+)/g)) expect(scripts).toHaveProperty(script)
  for (const file of files) expect(releasing).toContain(`\`${file}\``)
})
