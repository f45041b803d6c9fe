import { readdirSync, readFileSync } from 'node:fs'
import { posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { type Breach, breachesOf, importsOf, loadedBy, type Rules, readSources, tokenise } from './import-graph.ts'

/**
 * ARCHITECTURE.md, "Which folder may import which". From the bottom to the top; layers of one row stand side by side. Changing the architecture
 * means changing this table in a reviewed diff.
 */
const table: readonly (readonly [row: readonly string[], mayImport: readonly string[] | 'everything above'])[] = [
  [['core'], []],
  [['platform', 'events'], ['core']],
  [['shell'], ['core', 'platform']],
  [['view'], ['core', 'events']],
  [
    ['auth', 'execution', 'sessions', 'skills', 'layers', 'extensions'],
    ['core', 'platform'],
  ],
  [
    ['tools', 'authority'],
    ['core', 'platform', 'shell'],
  ],
  [
    ['providers', 'mcp'],
    ['core', 'platform', 'auth'],
  ],
  [['snapshots'], ['core', 'platform', 'sessions']],
  [['ai-sdk'], ['core', 'events', 'view']],
  [['plugins'], ['core', 'platform', 'tools', 'view']],
  [['presets'], 'everything above'],
  [['create-agent.ts'], 'everything above'],
  [['types.ts'], 'everything above'],
  [['index.ts'], 'everything above'],
  [['testing'], ['core', 'platform', 'providers', 'sessions', 'execution', 'durable/dispatcher']],
  [['otel'], ['core', 'platform']],
  [['workflow', 'chat'], 'everything above'],
  [['rpc'], ['events', 'chat']],
  [['acp'], ['core', 'platform', 'events', 'view', 'chat', 'rpc']],
  [['server'], 'everything above'],
  [['client'], ['core', 'events', 'view']],
  [['durable'], 'everything above'],
  [['tui'], ['core', 'platform', 'tools', 'authority', 'events', 'view', 'chat']],
  [
    ['web'],
    [
      ...['core', 'platform', 'events', 'view', 'client', 'server'],
      ...[
        'chat/view-models',
        'chat/attached-text',
        'chat/describe-call',
        'chat/diff-counts',
        'chat/read-diff',
        'chat/read-command-line',
      ],
    ],
  ],
  [['cli'], 'everything above'],
]

const root = fileURLToPath(new URL('..', import.meta.url))
const { exports, peerDependencies } = JSON.parse(readFileSync(`${root}/package.json`, 'utf8')) as {
  exports: Record<string, unknown>
  peerDependencies: Record<string, string>
}

const rules: Rules = {
  layers: layersOf(table),
  rows: table.map(([row]) => row),
  core: { forbidden: ['process', 'Buffer', 'require', '__dirname', '__filename'] },
  browser: [
    'ai-sdk/index.ts',
    'chat/view-models.ts',
    'client/index.ts',
    'events/index.ts',
    'view/session-view.ts',
    'web/page/libero.ts',
  ],
  indexes: Object.values(exports).flatMap((target) => {
    const source = typeof target === 'object' && target !== null && 'libero-source' in target && target['libero-source']
    return typeof source === 'string' ? [source.replace(/^\.\/src\//, '')] : []
  }),
}

// Of the page only the file that imports the library: the others are read by the compiler of the page.
const isChecked = (file: string): boolean => !file.startsWith('web/page/') || file === 'web/page/libero.ts'
const sources = new Map([...readSources(`${root}/src`)].filter(([file]) => isChecked(file)))

test('imports follow the layers, go round in no circles, and core is runtime-neutral', () => {
  expect(breachesOf(sources, rules)).toEqual([])
})

test('there is something to check', () => {
  const files = [...sources.keys()]
  expect(files).toEqual(expect.arrayContaining(['index.ts', 'core/loop.ts', 'tools/spawn.ts', 'testing/scripted.ts']))
  expect(files.filter((file) => file.endsWith('.test.ts'))).toEqual([])
  expect(importsOf(sources.get('index.ts')!).length).toBeGreaterThan(10)
})

describe('a planted breach is found', () => {
  const planted: Record<string, [file: string, source: string, breach: Pick<Breach, 'kind' | 'detail'>]> = {
    'core imports upwards': ['core/x.ts', `import { a } from '../sessions/s.ts'`, layer('sessions/s.ts')],
    'a type is imported upwards': ['core/x.ts', `import type { A } from '../sessions/s.ts'`, layer('sessions/s.ts')],
    'a type is exported from above': ['core/x.ts', `export type { A } from '../sessions/s.ts'`, layer('sessions/s.ts')],
    'everything is exported from above': ['core/x.ts', `export * from '../sessions/s.ts'`, layer('sessions/s.ts')],
    'a dynamic import goes upwards': ['core/x.ts', `await import('../sessions/s.ts')`, layer('sessions/s.ts')],
    'a dynamic import in a template literal': ['core/x.ts', 'await import(`../sessions/s.ts`)', layer('sessions/s.ts')],
    'an import for its side effects': ['core/x.ts', `import '../sessions/s.ts'`, layer('sessions/s.ts')],
    'an import over several lines': [
      'core/x.ts',
      `import {\n  a,\n  type B,\n} from '../sessions/s.ts'`,
      layer('sessions/s.ts'),
    ],
    'an import inside a template': ['core/x.ts', `\`\${await import('../sessions/s.ts')}\``, layer('sessions/s.ts')],
    'a library imports the root': ['tools/x.ts', `import { a } from '../index.ts'`, layer('index.ts')],
    'the product imports the tests’ kit': [
      'presets/x.ts',
      `import { a } from '../testing/t.ts'`,
      layer('testing/t.ts'),
    ],
    'the kit imports the product': ['testing/x.ts', `import { a } from '../create-agent.ts'`, layer('create-agent.ts')],
    'a screen reaches past the chat': ['tui/x.ts', `import { a } from '../sessions/s.ts'`, layer('sessions/s.ts')],
    'the web page loads the engine': ['web/x.ts', `import { a } from '../chat/engine.ts'`, layer('chat/engine.ts')],
    'a sibling is imported': [
      'skills/x.ts',
      `import { a } from '../sessions/s.ts'`,
      { kind: 'sibling', detail: 'sessions/s.ts' },
    ],
    'events and platform know each other': [
      'events/x.ts',
      `import '../platform/p.ts'`,
      { kind: 'sibling', detail: 'platform/p.ts' },
    ],
    'a file that is not there': [
      'core/x.ts',
      `import { a } from './none.ts'`,
      { kind: 'missing file', detail: './none.ts' },
    ],
    'the package imports itself': [
      'tools/x.ts',
      `import { a } from 'libero'`,
      { kind: 'own package', detail: 'libero' },
    ],
    'a folder of its own': [
      'helpers/x.ts',
      'export const a = 1',
      { kind: 'unknown layer', detail: 'helpers is not in the table' },
    ],
    'core imports a built-in': [
      'core/x.ts',
      `import { a } from 'node:fs'`,
      { kind: 'core built-in', detail: 'node:fs' },
    ],
    'core imports a built-in by its short name': [
      'core/x.ts',
      `import a from "path"`,
      { kind: 'core built-in', detail: 'path' },
    ],
    'core imports a built-in when needed': [
      'core/x.ts',
      `await import('node:fs')`,
      { kind: 'core built-in', detail: 'node:fs' },
    ],
    'core imports a package': ['core/x.ts', `import { a } from 'zod'`, { kind: 'core package', detail: 'zod' }],
    'core imports a type of a package': [
      'core/x.ts',
      `import type { A } from 'zod'`,
      { kind: 'core package', detail: 'zod' },
    ],
    'core loads an unlisted package when needed': [
      'core/x.ts',
      `await import('zod')`,
      { kind: 'core package', detail: 'zod' },
    ],
    'core loads what cannot be checked': [
      'core/x.ts',
      'await import(name)',
      { kind: 'core computed import', detail: 'its target cannot be checked' },
    ],
    'core asks the process': ['core/x.ts', 'const a = process.env.A', { kind: 'core global', detail: 'process' }],
    'core asks the process in a roundabout way': [
      'core/x.ts',
      'globalThis.process?.env',
      { kind: 'core global', detail: 'process' },
    ],
    'core spreads the process': ['core/x.ts', 'f({ ...process.env })', { kind: 'core global', detail: 'process' }],
    'core asks the process in a template': [
      'core/x.ts',
      `\`\${process.pid}\``,
      { kind: 'core global', detail: 'process' },
    ],
    'core uses a Buffer': ['core/x.ts', 'const a = b ? Buffer : c', { kind: 'core global', detail: 'Buffer' }],
    'core requires something': ['core/x.ts', `const a = require('./c.ts')`, { kind: 'core global', detail: 'require' }],
    'core knows where it lies': ['core/x.ts', 'read(__dirname)', { kind: 'core global', detail: '__dirname' }],
    'a screen for browsers imports a built-in': [
      'chat/view-models.ts',
      `import { a } from 'node:path'`,
      { kind: 'browser import', detail: 'node:path' },
    ],
    'events import a package': ['events/index.ts', `await import('zod')`, { kind: 'browser import', detail: 'zod' }],
    'events ask the process': ['events/index.ts', 'process.cwd()', { kind: 'browser global', detail: 'process' }],
    'an index inside a subpath': [
      'tools/text/index.ts',
      '',
      { kind: 'index', detail: 'index.ts belongs at the root of a subpath' },
    ],
    'an index of no subpath': [
      'execution/index.ts',
      '',
      { kind: 'index', detail: 'index.ts belongs at the root of a subpath' },
    ],
  }

  test.each(Object.entries(planted))('%s', (_, [file, source, breach]) => {
    expect(breachesOf(new Map([...neighbours, [file, source]]), rules)).toEqual([{ file, ...breach }])
  })

  test('a circle of value imports, static or dynamic', () => {
    const circle = new Map([
      ['core/a.ts', `import { b } from './b.ts'`],
      ['core/b.ts', `export { c } from './c.ts'`],
      ['core/c.ts', `await import('./a.ts')`],
    ])
    const detail = 'core/a.ts → core/b.ts → core/c.ts → core/a.ts'
    expect(breachesOf(circle, rules)).toEqual([{ kind: 'cycle', file: 'core/a.ts', detail }])
  })
})

describe('what is allowed is let through', () => {
  const allowed: Record<string, [file: string, source: string]> = {
    'neighbours in one folder': ['tools/x.ts', `import { a } from './y.ts'\nimport { b } from './text/z.ts'`],
    'built-ins and packages outside core': ['execution/x.ts', `import 'node:fs'\nimport 'zod'\nawait import(name)`],
    'the table’s own downward paths': [
      'mcp/x.ts',
      `import '../core/c.ts'\nimport '../platform/p.ts'\nimport '../auth/a.ts'`,
    ],
    'the web page and what it is for': ['web/x.ts', `import '../events/e.ts'\nimport '../chat/view-models.ts'`],
    'the command line and everything': [
      'cli/x.ts',
      `import '../tui/t.ts'\nimport '../core/c.ts'\nimport '../index.ts'`,
    ],
    'words in comments': ['core/x.ts', `// process, import '../cli/c.ts'\n/* Buffer\nimport '../cli/c.ts' */`],
    'words in strings': ['core/x.ts', `const a = "process" + 'import x from "../cli/c.ts"' + \`Buffer \\\${process}\``],
    'words in regular expressions': ['core/x.ts', `const a = /process['"\`]/.test(b) && c / Buffer_ / d`],
    'properties and keys of such names': ['core/x.ts', 'const a = { process: 1 }.process + b?.Buffer'],
    'other words that begin like that': ['core/x.ts', 'const processed = import.meta.url + requires'],
    'exports that come from nowhere': ['core/x.ts', `export { a }\nexport type B = 'x'\nconst from = '../cli/c.ts'`],
  }

  test.each(Object.entries(allowed))('%s', (_, [file, source]) => {
    expect(breachesOf(new Map([...neighbours, [file, source]]), rules)).toEqual([])
  })
})

test('E02 what a browser loads is followed to its end: no built-in, no package, no global of Node', () => {
  const planted = new Map([
    ...neighbours,
    ['chat/view-models.ts', `import { a } from './state.ts'\nimport type { B } from '../platform/p.ts'`],
    ['chat/state.ts', `export const a = () => import('../platform/late.ts')`],
    ['platform/p.ts', `import 'node:fs'`], // only its types are used
    ['platform/late.ts', `import { join } from 'node:path'\nexport const home = process.cwd()`],
  ])
  expect(breachesOf(planted, rules)).toEqual([
    { kind: 'browser import', file: 'platform/late.ts', detail: 'node:path' },
    { kind: 'browser global', file: 'platform/late.ts', detail: 'process' },
  ])
  expect(rules.browser.filter((entry) => !sources.has(entry))).toEqual([])
})

test('SV16 the view of a session imports core and events alone, and all that shows a session may import it', () => {
  expect(rules.layers.view).toEqual(['core', 'events'])
  for (const layer of ['plugins', 'workflow', 'chat', 'cli']) expect(rules.layers[layer]).toContain('view')
  const own = [...sources.keys()].filter((file) => file.startsWith('view/'))
  expect(own.length).toBeGreaterThan(5)
  for (const file of own) {
    const { files, others } = loadedBy(file, sources)
    expect([...files].filter((one) => !/^(?:view|events|core)\//.test(one))).toEqual([])
    expect([...others]).toEqual([])
  }
})

test('a circle that is closed by a type is none', () => {
  const half = [
    ['core/a.ts', `import type { B } from './b.ts'`],
    ['core/b.ts', `export { a }\nimport { a } from './a.ts'`],
  ] as const
  expect(breachesOf(new Map(half), rules)).toEqual([])
})

test('a static import, a type and a dynamic import are told apart', () => {
  const source = `
    import a, { type B } from './1.ts'
    import type C from './2.ts'
    import type { D } from './3.ts'
    import type from './4.ts'
    import { type E } from './5.ts'
    import type, { f } from './6.ts'
    import type * as g from './7.ts'
    export type * from './8.ts'
    export * as h from './9.ts'
    import data from './10.json' with { type: 'json' }
    type I = typeof import('./11.ts')
    obj.import('./12.ts'); import.meta.resolve('./13.ts')
    export type { J }
    export { k }
    export default l
    import type { M } from './14.ts'`
  const kinds = ['static', 'type', 'type', 'static', 'static', 'static', 'type', 'type', 'static']
  expect(importsOf(source)).toEqual([
    ...kinds.map((kind, i) => ({ specifier: `./${i + 1}.ts`, kind })),
    { specifier: './10.json', kind: 'static' },
    { specifier: './11.ts', kind: 'dynamic' },
    { specifier: './14.ts', kind: 'type' },
  ])
})

test('templates within templates are read to their end', () => {
  const words = tokenise(`a\`b\${c}d\${\`e\${{ f: g }.f}h\`}i\`.j`).filter(({ kind }) => kind === 'word')
  expect(words.map(({ text }) => text)).toEqual(['a', 'c', 'f', 'g', 'f', 'j'])
})

/** Something to import in each folder. */
const neighbours: readonly (readonly [string, string])[] = [
  ...[
    'core/c.ts',
    'sessions/s.ts',
    'platform/p.ts',
    'auth/a.ts',
    'events/e.ts',
    'testing/t.ts',
    'tui/t.ts',
    'index.ts',
  ],
  ...['create-agent.ts', 'chat/engine.ts', 'chat/state.ts', 'chat/view-models.ts', 'tools/y.ts', 'tools/text/z.ts'],
].map((file) => [file, ''] as const)

function layersOf(rows: typeof table): Record<string, readonly string[]> {
  const layers: Record<string, readonly string[]> = {}
  for (const [row, mayImport] of rows) {
    const above = Object.keys(layers)
    for (const layer of row) layers[layer] = mayImport === 'everything above' ? above : mayImport
  }
  return layers
}

function layer(detail: string): Pick<Breach, 'kind' | 'detail'> {
  return { kind: 'layer', detail }
}

test('E01 an optional peer is imported in a `try`, where webpack accepts that it is missing', () => {
  const names = Object.keys(peerDependencies).join('|')
  const imports = new RegExp(`(try \\{\\n *(?:return |const [^=\\n]+ = )?)?await import\\('(?:${names})'`, 'g')
  const found = [...sources].flatMap(([file, source]) =>
    [...source.matchAll(imports)].map(([, tried]) => ({ file, isInTry: tried !== undefined })),
  )
  expect(found.length).toBeGreaterThanOrEqual(5)
  expect(found.filter(({ isInTry }) => !isInTry)).toEqual([])
})

test('the page uses the library through one file only', () => {
  const folder = `${root}/src/web/page`
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) =>
    /(?<!\.test)\.tsx?$/.test(file),
  )
  expect(files.length).toBeGreaterThan(10)
  const outside = files.flatMap((file) =>
    [...readFileSync(`${folder}/${file}`, 'utf8').matchAll(/(?:from|import\() ?'(\.[^']+)'/g)]
      .filter(([, path]) => posix.normalize(posix.join(posix.dirname(file), path!)).startsWith('..'))
      .map(([, path]) => `${file}: ${path}`),
  )
  expect(outside.filter((one) => !one.startsWith('libero.ts: '))).toEqual([])
})
