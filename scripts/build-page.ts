import { createHash } from 'node:crypto'
import { mkdir, readdir, readFile, rename, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'vite'

const root = fileURLToPath(new URL('..', import.meta.url))

interface BuiltPage {
  /** By their paths. All of them are text. */
  readonly files: Readonly<Record<string, string>>
  /** The source files that they are made from. */
  readonly modules: readonly string[]
}

/** Builds the page. */
export async function buildPage(): Promise<BuiltPage> {
  const built = await build({
    root: join(root, 'src/web/page'),
    base: './',
    configFile: false,
    logLevel: 'warn',
    oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
    resolve: { alias: { react: 'preact/compat', 'react-dom': 'preact/compat' } }, // virtua is written for React
    worker: { format: 'es' },
    build: { write: false, target: 'es2023', modulePreload: { polyfill: false }, assetsInlineLimit: 0 },
  })
  const results = Array.isArray(built) ? built : [built]
  const output = results.flatMap((one) => ('output' in one ? one.output : []))
  const texts = output.map((file) => [`/${file.fileName}`, file.type === 'chunk' ? file.code : textOf(file.source)])
  const modules = output.flatMap((file) => (file.type === 'chunk' ? file.moduleIds : []))
  return { files: withIconInManifest(Object.fromEntries(texts)), modules }
}

/** Vite does not look into the manifest, which lies beside the icon that it names. */
function withIconInManifest(files: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const find = (pattern: RegExp): string => Object.keys(files).find((path) => pattern.test(path))!
  const manifest = find(/\.webmanifest$/)
  const icon = find(/\/icon-[^/]+\.svg$/).replace(/.*\//, '')
  return { ...files, [manifest]: files[manifest]!.replace('"icon.svg"', `"${icon}"`) }
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
  hash.update(await readFile(fileURLToPath(import.meta.url)))
  for (const folder of folders) {
    const names = await readdir(join(root, 'src', folder), { recursive: true })
    for (const name of names.sort()) {
      const { size, mtimeMs } = await stat(join(root, 'src', folder, name))
      hash.update(`${folder}/${name}\n${size}\n${mtimeMs}\n`)
    }
  }
  return hash.digest('hex').slice(0, 32)
}
