import { createRedactor } from '../platform/redact.ts'
import { visibleName } from '../platform/visible-text.ts'
import type { McpServerConfig } from './config.ts'
import { denoModule, image, npmPackage, type PackageKind, pythonPackage } from './package-kinds.ts'

/** A warning about a server that is fetched anew, in whatever version there is at that moment, each time it starts; with how to pin it. */
export function unpinnedRunner(config: McpServerConfig): string | undefined {
  const found = fetchedBy(wordsOf(config))
  const loose = found?.specs.find((spec) => !isLocal(spec) && !found.kind.isPinned(spec))
  if (!found || loose === undefined) return undefined
  return `The MCP server "${config.name}" runs whatever "${short(loose)}" is when it starts (${found.runner} fetches it), so its code can change without a word; ${short(found.kind.advice(loose))}`
}

interface Fetched {
  readonly runner: string
  readonly kind: PackageKind
  readonly specs: readonly string[]
}

/** Where a command fetches a program, from where and which. */
function fetchedBy(words: readonly string[]): Fetched | undefined {
  for (const { runner, kind, from, taking, flags } of runners) {
    const prefix = runner.split(' ')
    if (!prefix.every((word, n) => words[n] === word)) continue
    return { runner, kind, specs: specsIn(words.slice(prefix.length), { from, taking, flags }) }
  }
  return undefined
}

interface Options {
  /** Options that name what is fetched, instead of the first word. */
  readonly from?: readonly string[] | undefined
  /** Options whose value is the next word. */
  readonly taking?: readonly string[] | undefined
  /** Or those that have no value, where most have one. */
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

/** The command as words, its first one without folder and ending, and without what only passes it on. */
function wordsOf({ command = '', args = [] }: McpServerConfig): string[] {
  const name = programName(command)
  if (name === 'cmd' && /^\/c$/i.test(args[0] ?? '')) return [programName(args[1] ?? ''), ...args.slice(2)]
  const line = /^(?:ba|da|k|z)?sh$/.test(name) ? args.findIndex((word) => /^-[a-z]*c$/.test(word)) : -1
  if (line >= 0) return wordsOfLine(args[line + 1] ?? '')
  if (name !== 'env') return [name, ...args]
  const at = args.findIndex((word) => !/^-|^\w+=/.test(word))
  return at < 0 ? [] : [programName(args[at] ?? ''), ...args.slice(at + 1)]
}

/** Roughly: what stands last in the line of a shell is what stays. */
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

/** An address may hold a password. */
function short(text: string): string {
  const shown = createRedactor().text(text)
  return visibleName(shown.length > longest ? `${shown.slice(0, longest)}…` : shown)
}
