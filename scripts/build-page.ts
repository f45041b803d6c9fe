import { createHash } from 'node:crypto'
import { mkdir, readdir, readFile, rename, stat, writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { ChunkingContext, CodeSplittingGroup } from 'rolldown'
import { type BuildOptions, build, type Plugin } from 'vite'
import { lexerOf } from './marked-lexer.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const source = join(root, 'src/web/page')

interface BuiltPage {
  /** By their paths. All of them are text. */
  readonly files: Readonly<Record<string, string>>
  /** The source files that they are made from. */
  readonly modules: readonly string[]
}

/** Builds the page, and the script and style of a replay file. */
export async function buildPage(): Promise<BuiltPage> {
  const [page, replay] = await Promise.all([
    buildFiles([], {
      modulePreload: { polyfill: false, resolveDependencies: atFirstSight },
      rolldownOptions: { output: { codeSplitting: { groups: [...groups], includeDependenciesRecursively: false } } },
    }),
    buildFiles(onServer, {
      lib: {
        ...{ entry: join(source, 'replay/replay.tsx'), formats: ['iife'], name: 'replay' },
        ...{ fileName: () => 'replay.js', cssFileName: 'replay' },
      },
    }),
  ])
  return {
    files: { ...withIconInManifest(page.files), ...replay.files },
    modules: [...page.modules, ...replay.modules],
  }
}

/**
 * Modules that are needed together are one file, which takes less room than many small ones: what every screen needs, with
 * what the list of sessions shares with a conversation; what only a conversation needs; and what it shares with cards. Parts
 * that a person must open first have files of their own.
 */
const groups: readonly CodeSplittingGroup[] = [
  {
    name(id, modules) {
      const needs = (file: string): boolean => needed(join(source, file), modules).has(id)
      if (id.startsWith(join(root, 'src')) && !id.startsWith(source))
        return ofLibrary.find(([, files]) => files.test(id))?.[0] ?? null
      if (needs('main.tsx')) return 'index'
      if (!needs('screens/session-screen.tsx')) return null
      if (needs('screens/sessions-screen.tsx')) return 'index'
      return needs('cards/pending-cards.tsx') ? 'content' : 'conversation'
    },
  },
]

/** Every screen imports the library through one file, of which it uses a part. */
const ofLibrary: readonly (readonly [string, RegExp])[] = [
  ['index', /\/src\/(?:client\/|core\/(?:clock|waiting)|events\/replaces-reply|platform\/(?:format|visible-text))/],
  ['conversation', /\/src\/(?:view\/(?!view-history)|core\/(?:turn|interrupted)|chat\/attached-text)/],
  ['content', /\/src\/(?:core\/|chat\/(?:describe-call|diff-counts|renderers))/],
]

/** What a screen needs at first sight is loaded at once; what is opened later waits for what it imports. */
const atFirstSight = (_: string, files: string[], { hostId }: { readonly hostId: string }): string[] =>
  hostId.includes('index-') ? files.filter((file) => /\/(?:conversation|content|rolldown-runtime)-/.test(file)) : []

/** The modules that a file imports, and those that they import. */
function needed(file: string, modules: ChunkingContext): ReadonlySet<string> {
  const found = new Set([file])
  for (const id of found) for (const next of modules.getModuleInfo(id)?.importedIds ?? []) found.add(next)
  return found
}

/** Virtua is written for React. */
const forVirtua = join(source, 'parts/react.ts')

/** Modules of the page that a copy of a session does without. */
const onServer = [
  ...['parts/highlight.ts', 'parts/wikitext.tsx', 'cards/pending-card.tsx', 'session/rollback-dialog.tsx'],
  ...['session/queued-view.tsx', 'session/call-why.tsx', 'session/is-replay.ts'],
  ...['model/outbox.ts', 'model/send-with-files.ts', 'frame/link.tsx'],
]

async function buildFiles(leftOut: readonly string[], options: BuildOptions): Promise<BuiltPage> {
  const replacementOf = async (id: string): Promise<string | null> =>
    leftOut.includes(relative(source, id)) ? readFile(join(source, 'replay/without-server.ts'), 'utf8') : null
  const built = await build({
    root: source,
    base: './',
    configFile: false,
    logLevel: 'error',
    plugins: [
      { name: 'without-server', load: (id) => replacementOf(id) },
      lexerOnly,
      ...(options.lib ? [inOneFile] : [filesOfImports, shortImports]),
    ],
    oxc: { jsx: { runtime: 'automatic', importSource: 'preact', development: false } },
    resolve: {
      alias: Object.fromEntries(['react/jsx-runtime', 'react-dom', 'react'].map((name) => [name, forVirtua])),
      conditions: ['module', 'browser', 'production'], // also where NODE_ENV is another, as in tests
    },
    worker: { format: 'es' },
    define: { 'process.env.NODE_ENV': '"production"' },
    build: { write: false, target: 'es2023', assetsInlineLimit: 0, ...options },
  })
  const results = Array.isArray(built) ? built : [built]
  const output = results.flatMap((one) => ('output' in one ? one.output : []))
  const texts = output.map((file) => [`/${file.fileName}`, file.type === 'chunk' ? file.code : textOf(file.source)])
  const modules = output.flatMap((file) => (file.type === 'chunk' ? file.moduleIds : []))
  return { files: Object.fromEntries(texts), modules }
}

/** Vite does not look into the manifest, which lies beside the icon that it names. */
function withIconInManifest(files: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const find = (pattern: RegExp): string => Object.keys(files).find((path) => pattern.test(path))!
  const manifest = find(/\.webmanifest$/)
  const icon = find(/\/icon-[^/]+\.svg$/).replace(/.*\//, '')
  return { ...files, [manifest]: files[manifest]!.replace('"icon.svg"', `"${icon}"`) }
}

/** One file loads nothing later. What is imported as a whole cannot be left out in parts, and takes more room. */
const inOneFile: Plugin = {
  name: 'in-one-file',
  enforce: 'pre',
  transform: {
    filter: { id: /\/web\/page\/.*\.tsx?$/ },
    handler(code) {
      const imports: string[] = []
      const changed = code.replace(/\(await import\(('[^']+')\)\)\.(\w+)/g, (_, file: string, name: string) => {
        imports.push(`import { ${name} as ${name}$${imports.length} } from ${file}\n`)
        return `${name}$${imports.length - 1}`
      })
      return imports.join('') + changed
    },
  },
}

const lexerOnly: Plugin = {
  name: 'lexer-only',
  transform: { filter: { id: /\/marked\.esm\.js$/ }, handler: lexerOf },
}

/** Loads the styles of code with it, as Vite's own helper does, which is larger and never tries again what failed once. */
const filesOfImports: Plugin = {
  name: 'files-of-imports',
  enforce: 'pre',
  load: {
    filter: { id: /vite\/preload-helper/ },
    handler: () => `const base = import.meta.url
const files = new Map()
export const __vitePreload = async (load, names = []) => {
  await Promise.all(names.map((name) => {
    const { href } = new URL(name, base)
    if (!files.has(href)) files.set(href, add(href))
    return files.get(href)
  }))
  return load()
}
const add = (href) => new Promise((resolve, reject) => {
  if ([...document.querySelectorAll('link')].some((link) => link.href === href)) return resolve()
  const link = document.createElement('link')
  const isStyle = href.endsWith('.css')
  link.rel = isStyle ? 'stylesheet' : 'modulepreload'
  link.onload = resolve
  link.onerror = () => {
    link.remove()
    files.delete(href)
    reject(new Error('The file ' + href + ' could not be loaded.'))
  }
  link.href = href
  document.head.append(link)
  if (!isStyle) resolve()
})`,
  },
}

/** Vite takes each name out of a module and puts it into an object again, and tells where the code is: beside its helper. */
const shortImports: Plugin = {
  name: 'short-imports',
  enforce: 'post',
  generateBundle(_, files) {
    for (const file of Object.values(files))
      if (file.type === 'chunk')
        file.code = file.code
          .replace(
            /async\(\)=>\{let\{(\w+):(\w+)\}=await (import\([^()]+\)(?:\.then\(\w+=>\w+\.\w+\))?);return\{\1:\2\}\}/g,
            '()=>$3',
          )
          .replace(/(?:,\[\]|(__vite__mapDeps\(\[[\d,]+\]\))),import\.meta\.url\)/g, '$1)')
  },
}

const textOf = (source: string | Uint8Array): string =>
  typeof source === 'string' ? source : new TextDecoder('utf-8', { fatal: true }).decode(source)

/** The page of this checkout: built anew only if a source file has changed since the last time. */
export async function builtPage(): Promise<Readonly<Record<string, string>>> {
  const folder = join(root, 'node_modules/.cache/libero-web')
  const path = join(folder, `${await sourcesStamp()}.json`)
  const kept = await readFile(path, 'utf8').catch(() => undefined)
  if (kept !== undefined) return JSON.parse(kept) as Readonly<Record<string, string>>
  const { files } = await buildPage()
  await mkdir(folder, { recursive: true })
  const partial = `${path}.${process.pid}.tmp`
  await writeFile(partial, JSON.stringify(files))
  await rename(partial, path)
  return files
}

/** A digest of the names, sizes and times of everything that the page may be made from. */
async function sourcesStamp(): Promise<string> {
  const folders = ['web/page', 'core', 'events', 'view', 'client', 'chat', 'platform', 'plugins']
  const hash = createHash('sha256').update(await readFile(join(root, 'package-lock.json')))
  for (const own of ['build-page.ts', 'marked-lexer.ts']) hash.update(await readFile(join(root, 'scripts', own)))
  for (const folder of folders) {
    const names = await readdir(join(root, 'src', folder), { recursive: true })
    for (const name of names.sort()) {
      const { size, mtimeMs } = await stat(join(root, 'src', folder, name))
      hash.update(`${folder}/${name}\n${size}\n${mtimeMs}\n`)
    }
  }
  return hash.digest('hex').slice(0, 32)
}
