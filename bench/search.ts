import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { rgPath } from '@vscode/ripgrep'
import type { ToolContext, ToolDef } from '../src/core/tool.ts'
import { createProcessContext } from '../src/execution/process.ts'
import { createGlobTool } from '../src/tools/glob.ts'
import { createGrepTool } from '../src/tools/grep.ts'
import { compare, median, type Result } from './measure.ts'

const files = 50_000
/** A list takes so little time that it can be measured more often. */
const rounds = { grep: 11, glob: 35 }

/**
 * What our search tools cost over ripgrep itself, started and listened to by hand, in a tree of 50,000 files: with
 * ripgrep, and with our own walker where there is none. Time by the clock, because most of it passes in other processes;
 * the median of interleaved rounds.
 */
export async function search(): Promise<Result[]> {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'libero-bench-')))
  try {
    plant(root)
    const execution = createProcessContext({ cwd: root })
    const handle = await execution.spawn()
    const ctx = { execution, handle, signal: new AbortController().signal } as unknown as ToolContext
    const results: Result[] = []
    for (const task of tasks) results.push(...(await compareTask(task, root, ctx)))
    await execution.destroy(handle)
    return results
  } finally {
    rmSync(root, { recursive: true, force: true })
  }
}

interface Task {
  readonly name: string
  readonly tool: 'grep' | 'glob'
  readonly input: Readonly<Record<string, unknown>>
  /** The same for ripgrep itself. */
  readonly plain: readonly string[]
}

const rare = 'needle_\\w+'
const common = 'promise\\(await'

const tasks: readonly Task[] = [
  { name: 'files, rare pattern', tool: 'grep', input: { pattern: rare }, plain: ['-l', rare] },
  {
    name: 'lines, rare pattern',
    tool: 'grep',
    input: { pattern: rare, output_mode: 'content' },
    plain: ['-n', rare],
  },
  { name: 'files, common pattern', tool: 'grep', input: { pattern: common }, plain: ['-l', common] },
  {
    name: 'lines, common pattern',
    tool: 'grep',
    input: { pattern: common, output_mode: 'content' },
    plain: ['-n', common],
  },
  { name: 'glob **/*.ts', tool: 'glob', input: { pattern: '**/*.ts' }, plain: ['--files', '-g*.ts'] },
]

async function compareTask(task: Task, root: string, ctx: ToolContext): Promise<Result[]> {
  const { name, tool, input, plain } = task
  const create: (options: { ripgrep?: false }) => ToolDef = tool === 'grep' ? createGrepTool : createGlobTool
  const [ours, fallback] = [create({}), create({ ripgrep: false })]
  const contenders = [() => ripgrep(root, plain), () => ours.execute(input, ctx), () => fallback.execute(input, ctx)]
  const times = contenders.map((): number[] => [])
  for (let round = -2; round < rounds[tool]; round++) {
    for (const [i, run] of contenders.entries()) {
      const begun = performance.now()
      await run()
      if (round >= 0) times[i]!.push((performance.now() - begun) * 1000)
    }
  }
  const [least, mine, walked] = times.map(median)
  return [
    compare(`search: ${name}`, mine!, least!, 1.3, 'search'),
    compare(`search: ${name}, without ripgrep`, walked!, least!, 3, 'search'),
  ]
}

/** ripgrep with the flags that search what our tools search. */
function ripgrep(cwd: string, args: readonly string[]): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const child = spawn(rgPath, ['--no-config', '--hidden', '--no-require-git', '-g!.git', ...args, '.'], {
    cwd,
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const chunks: Buffer[] = []
  child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk))
  child.once('error', reject)
  child.once('close', () => resolve(Buffer.concat(chunks).toString('utf8')))
  return promise
}

const words =
  'const value return function import export from class interface readonly string number async await promise error result index handle file path test the of and for while if else switch case break default new this null undefined true false map filter reduce'.split(
    ' ',
  )
const extensions = ['ts', 'ts', 'ts', 'tsx', 'js', 'json', 'md', 'css', 'py', 'go']
const areas = ['src', 'lib', 'packages', 'dist', 'docs']
const filesPerFolder = 25

/** The same tree each time. */
function plant(root: string): void {
  let seed = 42
  const random = (below: number): number => {
    seed = (seed * 1_664_525 + 1_013_904_223) >>> 0
    return (seed / 2 ** 32) * below
  }
  const pick = (list: readonly string[]): string => list[Math.floor(random(list.length))]!
  const line = (): string => {
    let text = '  '.repeat(random(4))
    for (let left = 3 + random(9); left > 0; left--) text += pick(words) + (random(1) < 0.2 ? '(' : ' ')
    return `${text}\n`
  }
  const text = (): string => {
    // More small ones than large ones.
    const size = 512 + random(1) ** 2 * 7680
    let all = random(1) < 0.0005 ? 'needle_in_a_haystack\n' : ''
    while (all.length < size) all += line()
    return all
  }
  let folder = ''
  for (let n = 0; n < files; n++) {
    const at = Math.floor(n / filesPerFolder)
    if (n % filesPerFolder === 0) {
      folder = join(root, areas[at % areas.length]!, `module-${at % 37}`, `part-${at}`)
      mkdirSync(folder, { recursive: true })
    }
    writeFileSync(join(folder, `file-${n % filesPerFolder}.${pick(extensions)}`), text())
  }
  writeFileSync(join(root, '.gitignore'), 'dist/\n*.log\n!keep.log\n/docs/module-3/\nnode_modules\n')
}
