import { cutText } from '../core/text.ts'
import { createRedactor } from '../platform/redact.ts'
import { visibleName } from '../platform/visible-text.ts'
import type { McpServerConfig } from './config.ts'

/** A warning about a server whose package is fetched at each start without a fixed version; it says how to pin the version. */
export function unpinnedRunner(config: McpServerConfig): string | undefined {
  const fetched = fetchedPackages(wordsOf(config))
  const unpinned = fetched?.specs.find((spec) => !isLocal(spec) && !fetched.kind.isPinned(spec))
  if (!fetched || unpinned === undefined) return undefined
  return `The MCP server "${config.name}" runs whatever "${short(unpinned)}" is when it starts (${fetched.runner} fetches it), so its code can change without a word; ${short(fetched.kind.advice(unpinned))}`
}

/** How one kind of packages names a version. */
interface PackageKind {
  isPinned(spec: string): boolean
  /** How to pin it. */
  advice(spec: string): string
}

const registry = /^(?:npm|jsr):/
const address = /^[\w+.-]+:/
const exactVersion = /^(?![\w+.-]+:).+@v?\d+\.\d+\.\d+(?:[-+][\w.+-]+)?$/

/** From a registry by name and version, or from a repository by its commit. */
const npmPackage: PackageKind = {
  isPinned: (spec) => /#(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(spec) || exactVersion.test(spec.replace(registry, '')),
  advice(spec) {
    if (address.test(spec.replace(registry, '')))
      return `name a commit by its full hash, such as "${upTo(spec, '#')}#…"`
    return pinAdvice(`${spec.replace(/(?<=.)@[^@/]*$/, '')}@1.2.3`)
  },
}

/** Local files count as pinned. */
const denoModule: PackageKind = {
  ...npmPackage,
  isPinned: (spec) => !registry.test(spec) || npmPackage.isPinned(spec),
}

const pythonPackage: PackageKind = {
  isPinned(spec) {
    if (spec.includes('://')) return /@[0-9a-f]{40}(?:#|$)/.test(spec)
    return /===?\s*v?\d[\w.!+-]*$|.@v?\d+\.[\w.!+-]*$/.test(spec)
  },
  advice(spec) {
    if (spec.includes('://')) return `name a commit by its full hash, such as "${upTo(spec, '#')}@…"`
    return pinAdvice(`${spec.replace(/\s*[=<>!~@].*$/s, '')}==1.2.3`)
  },
}

/** A version tag counts as pinned: it can be moved, but moving it is noticed. */
const image: PackageKind = {
  isPinned(spec) {
    const [, tag, digest] = /^[^@]*?(?::([^:/@]+))?(?:@(sha256:[0-9a-f]{64}))?$/.exec(spec) ?? []
    return digest !== undefined || (tag !== undefined && tag !== 'latest')
  },
  advice(spec) {
    const name = spec.replace(/@.*$/s, '').replace(/:[^:/]*$/, '')
    return `name its digest, such as "${name}@sha256:…" (docker images --digests shows it), or at least a version`
  },
}

function pinAdvice(example: string): string {
  return `name one version, such as "${example}", or install it with a lock file, which pins its hash too, and give its path as command`
}

function upTo(text: string, sign: string): string {
  return text.split(sign, 1)[0] ?? text
}

interface Options {
  /** Options that name the package, instead of the first word. */
  readonly from?: readonly string[] | undefined
  /** Options whose value is the next word. */
  readonly taking?: readonly string[] | undefined
  /** Options without a value, for programs where most options have one. */
  readonly flags?: readonly string[] | undefined
}

interface Runner extends Options {
  readonly runner: string
  readonly kind: PackageKind
}

const npmOptions = {
  kind: npmPackage,
  from: ['-p', '--package'],
  taking: ['-c', '--call', '-w', '--workspace', '--registry', '--userconfig', '--cache', '--prefix'],
} as const
const pythonOptions = {
  kind: pythonPackage,
  from: ['--from', '--spec', '--with'],
  taking: [
    '-p',
    '--python',
    '--index',
    '--index-url',
    '--default-index',
    '--directory',
    '--project',
    '--with-editable',
  ],
} as const
const imageOptions = {
  kind: image,
  flags: [
    ...['-i', '-t', '-d', '-it', '-ti', '-q', '-P', '--rm', '--init', '--interactive', '--tty', '--detach', '--quiet'],
    ...['--privileged', '--read-only', '--publish-all', '--no-healthcheck', '--oom-kill-disable', '--sig-proxy'],
  ],
} as const

const runners: readonly Runner[] = [
  ...['npx', 'npm exec', 'npm x', 'bunx', 'bun x', 'pnpm dlx', 'pnpx', 'yarn dlx'].map((runner) => ({
    runner,
    ...npmOptions,
  })),
  { runner: 'deno run', kind: denoModule, taking: ['-c', '--config', '--import-map', '--lock'] },
  ...['uvx', 'uv tool run', 'uv x', 'pipx run'].map((runner) => ({ runner, ...pythonOptions })),
  ...['docker run', 'docker container run', 'podman run', 'nerdctl run'].map((runner) => ({ runner, ...imageOptions })),
]

/** The packages that a command fetches and runs; undefined when it fetches nothing. */
function fetchedPackages(words: readonly string[]): { runner: string; kind: PackageKind; specs: string[] } | undefined {
  for (const { runner, kind, ...options } of runners) {
    const prefix = runner.split(' ')
    if (!prefix.every((word, n) => words[n] === word)) continue
    return { runner, kind, specs: specsIn(words.slice(prefix.length), options) }
  }
  return undefined
}

function specsIn(words: readonly string[], { from = [], taking = [], flags }: Options): string[] {
  const named: string[] = []
  for (let n = 0; n < words.length; n++) {
    const word = words[n] ?? ''
    if (word === '--') return named.length > 0 ? named : words.slice(n + 1, n + 2)
    if (!word.startsWith('-') || word === '-') return named.length > 0 ? named : [word]
    const [option = '', value] = word.startsWith('--') ? word.split(/=(.*)/s, 2) : [word]
    if (from.includes(option)) named.push(value ?? words[++n] ?? '')
    else if (value === undefined && (flags ? !flags.includes(option) : taking.includes(option))) n++
  }
  return named
}

/** The command as words: the program without folder and extension, and without `cmd /c`, `sh -c` or `env` before it. */
function wordsOf({ command = '', args = [] }: McpServerConfig): string[] {
  const name = programName(command)
  if (name === 'cmd' && /^\/c$/i.test(args[0] ?? '')) return [programName(args[1] ?? ''), ...args.slice(2)]
  const line = /^(?:ba|da|k|z)?sh$/.test(name) ? args.findIndex((word) => /^-[a-z]*c$/.test(word)) : -1
  if (line >= 0) return wordsOfLine(args[line + 1] ?? '')
  if (name !== 'env') return [name, ...args]
  const at = args.findIndex((word) => !/^-|^\w+=/.test(word))
  return at < 0 ? [] : [programName(args[at] ?? ''), ...args.slice(at + 1)]
}

/** An approximation: the last command of a shell line is taken for the server. */
function wordsOfLine(line: string): string[] {
  const last = line.split(/&&|;/).at(-1) ?? ''
  const [program = '', ...rest] = last
    .replaceAll(/["']/g, '')
    .trim()
    .replace(/^exec\s+/, '')
    .split(/\s+/)
  return [programName(program), ...rest]
}

function programName(command: string): string {
  return command.replace(/^.*[\\/]/s, '').replace(/\.(?:exe|cmd|bat)$/i, '')
}

function isLocal(spec: string): boolean {
  return /^(?:file:|\.{0,2}[\\/]|\.{1,2}$|~\/|[A-Za-z]:\\)/.test(spec)
}

const longest = 200

/** Redacted, because an address may hold a password. */
function short(text: string): string {
  const shown = createRedactor().text(text)
  return visibleName(cutText(shown, longest))
}
