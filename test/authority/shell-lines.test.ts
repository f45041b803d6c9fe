import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, test } from 'vitest'
import { basePolicy } from '../../scripts/shell-corpus/base-policy.ts'
import { explainLine } from '../../src/authority/rules/explain.ts'
import { createShellReader } from '../../src/authority/shell/shell-reader.ts'
import { compileCache } from '../compile-cache.ts'
import { harmlessGitLines, harmlessLines, harmlessLinesOfMore, morePrograms } from './harmless-lines.ts'
import { type HostileLine, hostileLines } from './hostile-lines.ts'

const reader = createShellReader()
afterAll(() => reader.close())

const byRow = Map.groupBy(hostileLines, ({ row }) => row)

describe('hostile lines', () => {
  test('there are at least 150, and two for each row', () => {
    expect(hostileLines.length).toBeGreaterThanOrEqual(150)
    for (const [row, lines] of byRow) expect(lines.length, row).toBeGreaterThanOrEqual(2)
  })

  test.for([...byRow])('%s none of them runs without a question', async ([, lines]) => {
    expect(await wronglyJudged(lines, false)).toEqual([])
  })

  // In an untrusted clone every git line is asked about: here it has to be its own words that stop it.
  test.for([...byRow])('%s nor where the workspace is trusted', async ([, lines]) => {
    const own = lines.filter(({ isAboutTrust }) => !isAboutTrust)
    expect(await wronglyJudged(own, true)).toEqual([])
  })
})

describe('harmless lines', () => {
  test('200 everyday lines cause no question', async () => {
    expect(harmlessLines.length).toBeGreaterThanOrEqual(200)
    expect(await questions(harmlessLines, false)).toEqual([])
  })

  test('git is read-only only where the workspace is trusted', async () => {
    expect(await questions(harmlessGitLines, true)).toEqual([])
    expect(await questions(harmlessGitLines, false)).toHaveLength(harmlessGitLines.length)
  })

  test('other read-only programs need no more than a rule', async () => {
    const rules = morePrograms.map((program) => `shell:${program}`)
    expect(await questions(harmlessLinesOfMore, true, rules)).toEqual([])
    expect(await questions(harmlessLinesOfMore, true)).not.toEqual([])
  })
})

describe('npm run shell-corpus', () => {
  const silent = { row: 'X-1', name: 'fine', cmd: 'echo "\u202e"; ls' }

  test('counts what would be stopped', async () => {
    const { code, stdout, stderr } = await corpus([{ row: 'X-2', name: 'a', cmd: 'ls; ./helper.sh' }, { cmd: 'rm f' }])
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: 'shell-corpus: 2 stopped, 0 silent\n', stderr: '' })
  })

  test('names what would run without a question', async () => {
    const { code, stdout } = await corpus([{ ...silent, cmd: 'ls\npwd' }, { cmd: './helper.sh' }])
    expect(stdout).toBe('silent X-1 fine: "ls\\npwd"\nshell-corpus: 1 stopped, 1 silent\n')
    expect(code).toBe(1)
  })

  test('does not count as stopped what it cannot read', async () => {
    const { code, stdout, stderr } = await corpus(['{"cmd": ', { row: 'X-3' }, 'null', { cmd: './helper.sh' }])
    expect(stdout).toBe('shell-corpus: 1 stopped, 0 silent\n')
    expect(stderr).toMatch(/line 1 of .*lines\.jsonl is no JSON .*\n.*line 2 of .* has no text "cmd".*\n.*line 3 of /)
    expect(code).toBe(2)
  })

  test('reports what is wrong with its file', async () => {
    expect(await corpus([])).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('holds no lines') })
    expect(await run(['/nowhere.jsonl'])).toMatchObject({ code: 2, stderr: expect.stringContaining('cannot be read') })
    expect(await run([])).toMatchObject({ code: 2, stderr: expect.stringContaining('usage') })
  })
})

/** Lines that would run, or that are asked about although a denied program stands in them. */
async function wronglyJudged(lines: readonly HostileLine[], isTrusted: boolean): Promise<string[]> {
  const wrong: string[] = []
  for (const { cmd, isDenied } of lines) {
    const { verdict, why } = await judge(cmd, isTrusted)
    if (isDenied ? verdict !== 'deny' : verdict === 'allow') wrong.push(`${verdict} ${shown(cmd)}: ${why}`)
  }
  return wrong
}

async function questions(
  lines: readonly string[],
  isTrusted: boolean,
  more: readonly string[] = [],
): Promise<string[]> {
  const asked: string[] = []
  for (const line of lines) {
    const { verdict, why } = await judge(line, isTrusted, more)
    if (verdict !== 'allow') asked.push(`${verdict} ${shown(line)}: ${why}`)
  }
  return asked
}

function judge(command: string, isTrusted: boolean, more: readonly string[] = []) {
  const launch = { ...basePolicy, allow: [...basePolicy.allow, ...more] }
  const location = { root: '/clone/work', home: '/home/other', isTrusted }
  return explainLine(command, { layers: { launch }, location }, reader.read)
}

const shown = (line: string): string => JSON.stringify(line.length > 200 ? `${line.slice(0, 200)}…` : line)

async function corpus(lines: readonly (object | string)[]): Promise<Outcome> {
  const folder = await mkdtemp(join(tmpdir(), 'libero-shell-corpus-'))
  try {
    const file = join(folder, 'lines.jsonl')
    await writeFile(file, lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n'))
    return await run([file])
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

interface Outcome {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

function run(args: readonly string[]): Promise<Outcome> {
  const cwd = fileURLToPath(new URL('../..', import.meta.url))
  return new Promise((resolve) => {
    const all = ['--conditions=libero-source', 'scripts/shell-corpus.ts', ...args]
    execFile(process.execPath, all, { cwd, env: compileCache, timeout: 20_000 }, (error, stdout, stderr) =>
      resolve({ code: Number(error?.code ?? 0), stdout, stderr }),
    )
  })
}
