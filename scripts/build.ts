import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Plugin, rolldown } from 'rolldown'
import { writeTypes } from './declarations.ts'
import { inAscii } from './in-ascii.ts'
import { Licences } from './licences.ts'
import { pageAsText } from './page-as-text.ts'
import { compileStartedFunctions } from './started-functions.ts'
import { threadsAsText } from './thread-code.ts'
import { withoutFacades } from './without-facades.ts'

const root = fileURLToPath(new URL('..', import.meta.url))

/**
 * What is published: types and code, both in a few files, because each file costs time at start. `isChecked`: `npm run check`
 * has passed, and types are not checked again, which is half of the work.
 */
export async function build(dist: string, isChecked = false): Promise<string | undefined> {
  rmSync(dist, { recursive: true, force: true })
  const flags = isChecked ? ['--noCheck'] : []
  const problem =
    (await tried(() => writeTypes(root, Object.keys(subpaths()), dist, flags))) ??
    (await tried(() => bundleInto(dist))) ??
    (await tried(() => compileStartedFunctions(dist)))
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
  const isBase = isOneOf(base)
  const isForScreens = isOneOf(['plugins/', 'view/'])
  const isForCalls = isOneOf(['core/edit-outcomes', 'core/session-status']) // a part of both screens and runs, not of the root
  const licences = new Licences()
  const bundle = await rolldown({
    cwd: root,
    input: { 'cli/main': './src/cli/main.ts', ...subpaths() },
    platform: 'node',
    preserveEntrySignatures: 'allow-extension',
    external: /^[^./]/, // every package and every built-in stays an import
    plugins: [
      ...[threadsAsText(licences), pageAsText(licences), licences.plugin()],
      ...[builtInsByHand, asciiOnly, withoutFacades],
    ],
    checks: { ineffectiveDynamicImport: false, bundlerTimings: false },
  })
  await bundle.write({
    dir: dist,
    format: 'esm',
    chunkFileNames: 'chunks/[name].js',
    // Readers have the source; the types keep their comments.
    comments: false,
    codeSplitting: {
      groups: [
        { name: 'base', test: (id) => (shared.has(id) && !isForScreens(id) && !isForCalls(id)) || isBase(id) },
        { name: 'calls', test: isForCalls },
        { name: 'browser', test: (id) => shared.has(id) },
        ...chunks.map(([name, modules]) => ({ name, test: isOneOf(modules) })),
      ],
      includeDependenciesRecursively: true,
    },
  })
  await bundle.close()
}

/** Modules of other folders that the subpaths for browsers load: in chunks where nothing of Node is. */
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

/** Loaded by everything, browsers too. */
const base = ['core/estimate-tokens', 'core/nearest', 'core/version', 'platform/visible-text']

/**
 * Modules that are loaded together share one file, because each file costs time at start. A chunk has the modules listed
 * here and what they import statically, unless an earlier chunk has it. Loading the root must not load a part of Node;
 * `libero --version` must load nothing else.
 */
const chunks: readonly (readonly [name: string, modules: readonly string[]])[] = [
  ['events', ['events/']],
  ['cli', ['cli/cli-error', 'cli/command', 'cli/help', 'cli/libero', 'cli/parse']],
  [
    'engine',
    [
      ...['core/tool-input', 'core/tool-output', 'core/usage', 'core/define-tool', 'core/schema'],
      ...['create-agent', 'providers/aliases', 'providers/without-vision', 'presets/preset', 'presets/standard'],
      ...['sessions/session', 'sessions/stores'],
      ...['sessions/interop/anthropic', 'sessions/interop/detect', 'sessions/interop/openai'],
      ...['execution/process', 'execution/sandbox', 'tools/interaction', 'tools/spawn'],
      ...['mcp/config', 'mcp/connections', 'mcp/oauth/credential-store', 'mcp/oauth/mcp-oauth-provider'],
      ...['skills/skill', 'skills/lazy-skills', 'skills/check-config'],
      ...['extensions/disclosure/tool-search', 'extensions/disclosure/lazy-tool'],
    ],
  ],
  ['loop', ['core/run-lifecycle', 'execution/files/confined-path']], // loaded by the first run
  [
    'start', // what `libero run` and the first screen of the terminal share
    [
      ...['cli/run/run-task', 'cli/sessions/open-store', 'cli/sessions/find-session', 'cli/text', 'view/session-view'],
      ...['rpc/offer-local-events', 'platform/image-info', 'sessions/pending', 'tools/text/diff'],
      ...['answer-view', 'calls-view', 'children-view', 'retry-notice', 'thought-view'].map(
        (name) => `tui/rows/${name}`,
      ),
      ...['tui/terminal/frames', 'tui/terminal/paint', 'platform/lock', 'core/waiting'],
    ],
  ],
  ['tui', ['tui/run-tui', 'cli/chat/run-chat']], // draws before the engine is loaded
  [
    'platform',
    ['files', 'lock', 'digest', 'redact', 'source-files', 'canonical-json'].map((name) => `platform/${name}`),
  ],
  [
    'provider',
    [
      ...['providers/services/', 'providers/offline/offline'],
      ...['catalogue', 'credential', 'retry', 'service', 'watchdog'].map((name) => `providers/${name}`),
    ],
  ],
  [
    'model-stream',
    [
      ...['providers/wires/openai-chat', 'providers/model-stream', 'providers/service-client'],
      ...['platform/http-node', 'auth/credentials'],
    ],
  ],
  ['store', ['sessions/sqlite-store', 'sessions/memory-store', 'sessions/stored-session']],
  [
    'toolset',
    ['presets/coding', 'extensions/read-tracking', 'extensions/summary-compaction', 'extensions/thinking-decay'],
  ],
  ['authority', ['authority/authority', 'authority/trust/enter-project', 'authority/trust/trust-list']],
  ['call', ['authority/gate']], // loaded by the first call of a tool
  ['run', ['cli/run/run-at-terminal']],
  ['snapshots', ['snapshots/']], // loaded by the first prompt
  ['commands', ['execution/commands/', 'execution/files/confined-files']], // loaded by the first command or write
  ['chat', ['chat/create-chat', 'chat/commands/chat-commands', 'chat/submit-line', 'chat/complete']],
  ['tui', ['tui/run-tui', 'cli/chat/run-chat']], // what the first screen needs
  ['viewers', ['tui/viewers/', 'tui/views', 'tui/open-lists', 'tui/command-screen']],
  ['agents', ['cli/agents/']],
  ['chat-commands', ['chat/commands/']], // loaded by the first command
  ['cli-chat-commands', ['cli/chat-commands/']],
  ['facts', ['cli/policy/', 'cli/grants/', 'cli/audit/', 'cli/skills/', 'cli/tools/', 'cli/trust/']], // what commands and the server tell
]

/** Whether a module is in a list of modules and folders. A listed name without a file is an error. */
function isOneOf(modules: readonly string[]): (id: string) => boolean {
  const paths = modules.map((name) => join(root, 'src', name.endsWith('/') ? name : `${name}.ts`))
  for (const path of paths) if (!existsSync(path)) throw new Error(`${path} is in a chunk and does not exist`)
  return (id) => paths.some((path) => id === path || (path.endsWith('/') && id.startsWith(path)))
}

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
  const problem = await build(join(root, 'dist'), process.argv.includes('--checked'))
  if (problem !== undefined) {
    console.error(`build: failed, there is no dist/ now (${problem})`)
    process.exitCode = 1
  }
}
