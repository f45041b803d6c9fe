/**
 * `npm run shape`: how big the project is and how it reads, as numbers. Each number that has an aim is printed with it.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { importsOf, readSources, type Sources } from '../test/import-graph.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const textOf = (file: string): string => readFileSync(join(root, file), 'utf8')
const lineCount = (text: string): number => text.split('\n').length - (text.endsWith('\n') ? 1 : 0)
const linesOf = (texts: Iterable<string>): number => [...texts].reduce((sum, text) => sum + lineCount(text), 0)
const sources = readSources(join(root, 'src'))
const importers = importersOf(sources)

/**
 * Files that a call or a message passes, in order, and the most there may be. Each must be imported by one before it, or
 * the path is wrong.
 */
const paths: readonly { readonly of: string; readonly limit: number; readonly files: readonly string[] }[] = [
  {
    of: 'a tool call, from the reply to the logged result',
    limit: 9,
    files: [
      'core/loop.ts',
      'core/tool-batch.ts',
      'core/prepared-call.ts',
      'core/tool-input.ts',
      'core/tool-gate.ts',
      'core/tool-call.ts',
      'core/tool-context.ts',
      'core/tool-result.ts',
      'core/log.ts',
    ],
  },
  {
    of: 'a message to a workflow agent, before the core',
    limit: 5,
    files: [
      'workflow/workflow.ts',
      'workflow/open-agents.ts',
      'workflow/agent/live-agent.ts',
      'workflow/agent/handler-run.ts',
      'workflow/agent/engine-runs.ts',
    ],
  },
]

const riddles = /\b(whoever|somebody|nobody|he)\b/gi
const prose = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter(
  (file) => /\.(ts|md)$/.test(file) && !/(^|\/)(node_modules|dist|\.git|corpus)\//.test(file),
)

console.log('folder        files   lines')
for (const [folder, files] of byFolder(sources)) {
  const lines = linesOf(files.map((file) => sources.get(file)!))
  console.log(`${folder.padEnd(12)} ${String(files.length).padStart(6)} ${String(lines).padStart(7)}`)
}

/** Folders with features that came after the aims of files and lines were set. */
const later = ['acp', 'ai-sdk', 'client', 'durable', 'otel', 'server', 'tui', 'view', 'web']
const before = [...sources].filter(([file]) => !later.includes(file.split('/')[0]!))
const small = [...sources].filter(([file, text]) => lineCount(text) <= 25 && importers.get(file)?.size === 1)
const long = [...sources].filter(([, text]) => lineCount(text) > 350).map(([file]) => file)
const deep = new Set([...sources.keys()].map(posix.dirname).filter((folder) => folder.split('/').length > 3))
console.log()
console.log(
  `${sources.size.toLocaleString('en')} source files, ${linesOf(sources.values()).toLocaleString('en')} lines`,
)
console.log(`The aims for both were set before ${later.join(', ')}, and are of the other folders:`)
report('source files', before.length, 1000)
report('source lines', linesOf(before.map(([, text]) => text)), 100_000)
report('files of at most 25 lines with one importer', small.length, 60)
report('files of more than 350 lines', long.length, 0, long)
report('folders deeper than three below src', deep.size, 0, [...deep])
report('fields of Run', runFields(), 20)
report('public names', publicNames().size, 500)
report('lines of README.md', lineCount(textOf('README.md')), 150)
report('lines of ARCHITECTURE.md', lineCount(textOf('ARCHITECTURE.md')), 200)
report('lines of AGENTS.md', lineCount(textOf('AGENTS.md')), 100)
report('entries of the glossary', glossaryEntries(), 40)
report('"whoever", "somebody", "nobody", "he"', riddleWords(), 80)
for (const { of, limit, files } of paths) report(`files on the path of ${of}`, files.length, limit, gapsOf(files))

function report(name: string, value: number, aim: number, details: readonly string[] = []): void {
  console.log(`${value <= aim ? '✓' : '✗'} ${name}: ${value.toLocaleString('en')} (aim ${aim.toLocaleString('en')})`)
  for (const detail of details) console.log(`    ${detail}`)
}

function byFolder(files: Sources): [string, string[]][] {
  const folders = Map.groupBy(files.keys(), (file) => (file.includes('/') ? file.split('/')[0]! : '.'))
  return [...folders].sort(([a], [b]) => (a < b ? -1 : 1))
}

function importersOf(files: Sources): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>()
  for (const [file, text] of files) {
    for (const target of targetsOf(file, text)) found.set(target, (found.get(target) ?? new Set()).add(file))
  }
  return found
}

function targetsOf(file: string, text: string): string[] {
  const relative = importsOf(text).flatMap(({ specifier }) => (specifier?.startsWith('.') ? [specifier] : []))
  return relative.map((specifier) => posix.join(posix.dirname(file), specifier))
}

/** The steps of a path that no import joins. */
function gapsOf(path: readonly string[]): string[] {
  return path.slice(1).flatMap((file, i) => {
    const before = path[i]!
    const isJoined = path.slice(0, i + 1).some((earlier) => importers.get(file)?.has(earlier))
    return isJoined ? [] : [`no file before it imports ${file} (after ${before})`]
  })
}

function runFields(): number {
  const text = sources.get('core/run.ts') ?? ''
  const body = /export interface Run \{([\s\S]*?)\n\}/.exec(text)?.[1] ?? ''
  return body.split('\n').filter((line) => /^ {2}(readonly )?\w+\??[:(<]/.test(line)).length
}

/** Every name that a program can import from a subpath of the package, once. */
function publicNames(): Set<string> {
  const { exports } = JSON.parse(textOf('package.json')) as { exports: Record<string, { 'libero-source'?: string }> }
  const entries = Object.values(exports).flatMap((target) => target['libero-source'] ?? [])
  return new Set(entries.flatMap((entry) => [...namesOf(entry.replace('./src/', ''))]))
}

function namesOf(file: string, seen = new Set<string>()): Set<string> {
  const names = new Set<string>()
  if (seen.has(file)) return names
  seen.add(file)
  const text = sources.get(file) ?? ''
  for (const [, from] of text.matchAll(/^export (?:type )?\* from '(\.[^']+)'/gm))
    for (const name of namesOf(posix.join(posix.dirname(file), from!), seen)) names.add(name)
  for (const [, list] of text.matchAll(/^export (?:type )?\{([^}]*)\}/gm))
    for (const name of list!.split(',').map((one) =>
      one
        .trim()
        .replace(/^type /, '')
        .replace(/^.* as /, ''),
    ))
      if (name !== '') names.add(name)
  for (const [, name] of text.matchAll(
    /^export (?:declare )?(?:async )?(?:abstract )?(?:function\*?|class|interface|type|const|let) (\w+)/gm,
  ))
    names.add(name!)
  return names
}

function glossaryEntries(): number {
  if (!existsSync(join(root, 'docs/glossary.md'))) return 0
  return textOf('docs/glossary.md').match(/^\| \*\*/gm)?.length ?? 0
}

function riddleWords(): number {
  return prose.reduce((sum, file) => sum + (textOf(file).match(riddles)?.length ?? 0), 0)
}
