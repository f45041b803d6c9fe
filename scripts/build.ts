import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Plugin, rolldown } from 'rolldown'
import { writeTypes } from './declarations.ts'
import { inAscii } from './in-ascii.ts'
import { threadsAsText } from './thread-code.ts'
import { withoutFacades } from './without-facades.ts'

const root = fileURLToPath(new URL('..', import.meta.url))

/** What is published: types and code, both in a few files, because each file costs time at start. */
export async function build(dist: string): Promise<string | undefined> {
  rmSync(dist, { recursive: true, force: true })
  const problem =
    (await tried(() => writeTypes(root, Object.keys(subpaths()), dist))) ?? (await tried(() => bundleInto(dist)))
  // Half a build is worse than none.
  if (problem !== undefined) rmSync(dist, { recursive: true, force: true })
  return problem
}

async function tried(step: () => Promise<string | undefined | void>): Promise<string | undefined> {
  try {
    return (await step()) ?? undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

/** The code alone. */
export async function bundleInto(dist: string): Promise<void> {
  const shared = await sharedWithBrowsers()
  const bundle = await rolldown({
    cwd: root,
    input: { 'cli/main': './src/cli/main.ts', ...subpaths() },
    platform: 'node',
    preserveEntrySignatures: 'allow-extension',
    external: /^[^./]/, // every package and every built-in stays an import
    plugins: [threadsAsText(), builtInsByHand, asciiOnly, withoutFacades],
    checks: { ineffectiveDynamicImport: false, bundlerTimings: false },
  })
  await bundle.write({
    dir: dist,
    format: 'esm',
    chunkFileNames: 'chunks/[name].js',
    // Readers have the source; the types keep their comments.
    comments: false,
    codeSplitting: {
      groups: [{ name: 'browser', test: (id) => shared.has(id) }, ...chunks.map(([name, test]) => ({ name, test }))],
      includeDependenciesRecursively: true,
    },
  })
  await bundle.close()
}

/** Modules of other folders that the subpaths for browsers load: in a chunk of their own, where nothing of Node is. */
async function sharedWithBrowsers(): Promise<Set<string>> {
  const input = ['./src/chat/view-models.ts', './src/events/index.ts']
  const bundle = await rolldown({ cwd: root, input })
  const { output } = await bundle.generate()
  await bundle.close()
  const modules = output.flatMap((file) => (file.type === 'chunk' ? file.moduleIds : []))
  return new Set(modules.filter((id) => !/\/src\/(chat|events)\//.test(id)))
}

/**
 * To import a part of Node as a module makes it list all it has, and load that: `fs` its streams, `util` a comparison of
 * texts. Asked for by hand it gives what is wanted.
 */
const builtInsByHand: Plugin = {
  name: 'built-ins-by-hand',
  renderChunk: (code) =>
    code.replace(
      /^import (?:\{ (.+) \}|(?:\* as )?([\w$]+)) from "(node:[\w/]+)";$/gm,
      (_, names: string | undefined, whole: string | undefined, part: string) =>
        `const ${whole ?? `{ ${names!.replaceAll(' as ', ': ')} }`} = process.getBuiltinModule("${part}");`,
    ),
}

/** A file of ASCII alone is read as it is, and kept in half the room. There are no names and no comments beyond it. */
const asciiOnly: Plugin = {
  name: 'ascii-only',
  generateBundle(_, bundle) {
    for (const file of Object.values(bundle)) if (file.type === 'chunk') file.code = inAscii(file.code)
  },
}

/**
 * What is loaded together is one file, because each file costs time at start: these modules, and what they import at once
 * and no file above has. Loading the root must not load a part of Node, nor must asking for the version
 * anything else.
 */
const chunks: readonly (readonly [name: string, test: RegExp])[] = [
  ['base', /\/src\/(core\/(nearest|version)|platform\/visible-text)\.ts$/],
  ['events', /\/src\/events\//],
  ['cli', /\/src\/cli\/(cli-error|command|exit-codes|help|libero|parse)\.ts$/],
  [
    'engine',
    /\/src\/(core\/|create-agent\.ts|sessions\/(session|memory-store|stores)\.ts|sessions\/interop\/(anthropic|detect|fields|openai)\.ts|execution\/(process|sandbox)\.ts|tools\/(interaction|spawn)\.ts|mcp\/(config|late|oauth\/(credential-store|mcp-oauth-provider))\.ts|skills\/(skill|late-skills|check-config)\.ts|extensions\/disclosure\/(tool-search|lazy-tool)\.ts|presets\/(preset|standard)|providers\/(aliases|without-vision))/,
  ],
  ['platform', /\/src\/platform\/(files|lock|digest|redact|source-files|canonical-json)\.ts$/],
  [
    'provider',
    /\/src\/providers\/(services\/[a-z-]+|offline\/offline|catalogue|credential|retry|service|watchdog)\.ts$/,
  ],
  ['exchange', /\/src\/(providers\/(wires\/openai-chat|exchange|line)|platform\/http-node|auth\/credentials)\.ts$/],
  ['store', /\/src\/sessions\/(sqlite-store|stored-session)\.ts$/],
  ['toolset', /\/src\/(presets\/profiles|extensions\/(read-tracking|summary-compaction))\.ts$/],
  ['authority', /\/src\/authority\/(authority|trust\/(enter-project|trust-list))\.ts$/],
  ['call', /\/src\/authority\/gate\.ts$/], // what the first call of a tool loads
  ['work', /\/src\/cli\/run\/work\.ts$/],
]

/** Each subpath of the package, by where its code goes. */
function subpaths(): Record<string, string> {
  const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    exports: Record<string, string | { 'libero-source': string; default: string }>
  }
  const targets = Object.values(exports).filter((target) => typeof target === 'object')
  return Object.fromEntries(
    targets.map((target) => [target.default.replace(/^\.\/dist\/|\.js$/g, ''), target['libero-source']]),
  )
}

if (import.meta.main) {
  const problem = await build(join(root, 'dist'))
  if (problem !== undefined) {
    console.error(`build: failed, there is no dist/ now (${problem})`)
    process.exitCode = 1
  }
}
