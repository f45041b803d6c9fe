import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect } from 'vitest'
import { basePolicy } from '../../scripts/shell-corpus/base-policy.ts'
import { decide } from '../../src/authority/decide.ts'
import { shellCall } from '../../src/authority/judged-call.ts'
import { type Explanation, explainLine } from '../../src/authority/rules/explain.ts'
import { createProtection } from '../../src/authority/rules/protected-paths.ts'
import { type AuthoritySettings, resolveSettings, type SecurityMode } from '../../src/authority/rules/settings.ts'
import type { Decision } from '../../src/core/authority.ts'
import type { SandboxSupport } from '../../src/core/execution.ts'
import { readShell } from '../../src/shell/read-shell.ts'
import { type ShellFacts, shellFacts } from '../../src/shell/shell-facts.ts'
import type { ShellLocation } from '../../src/shell/shell-location.ts'
import { createShellReader } from '../../src/shell/shell-reader.ts'
import { compileCache } from '../compile-cache.ts'
import { everydayLines } from '../sandbox/everyday.ts'
import { testInTurns } from '../soak.ts'
import { bothProfiles } from './call-kit.ts'
import { harmlessGitLines, harmlessLines, harmlessLinesOfMore, morePrograms } from './harmless-lines.ts'
import { type HostileLine, hostileLines } from './hostile-lines.ts'

const test = testInTurns(2)

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

  test.for(['ask', 'plan'] as const)('nor in %s without a sandbox', (mode) => {
    const silent = linesThat(hostileLines, ({ verdict }) => verdict === 'allow', { launch: { mode } })
    expect(silent).toEqual([])
  })

  test.for(['ask', 'plan', 'base'] as const)(
    'in a sandbox those of %s that run without a question can reach and change nothing',
    (mode) => {
      const launch = mode === 'base' ? basePolicy : { mode }
      const isLoose = ({ verdict, confinement }: Decision): boolean =>
        verdict === 'allow' && JSON.stringify(reachOf(confinement)) !== JSON.stringify(nothing)
      expect(linesThat(hostileLines, isLoose, { launch, sandbox: bothProfiles })).toEqual([])
    },
  )

  test('in a sandbox too, what a rule denies is denied', () => {
    const isWrong = ({ verdict }: Decision): boolean => verdict !== 'deny'
    const denied = hostileLines.filter(({ isDenied }) => isDenied)
    expect(linesThat(denied, isWrong, { launch: basePolicy, sandbox: bothProfiles })).toEqual([])
  })
})

const nothing = { profile: 'read-only', reads: [], writes: [], hosts: [], home: 'empty' }

function reachOf(place: Decision['confinement']): unknown {
  if (place === undefined || place === 'outside') return place
  const { profile, reads, writes, hosts, home } = place
  return { profile, reads, writes, hosts, home }
}

describe('harmless lines', () => {
  test('200 everyday lines cause no question in a sandbox, where the workspace is not trusted', async () => {
    expect(harmlessLines.length).toBeGreaterThanOrEqual(200)
    expect(await questions(harmlessLines, bothProfiles)).toEqual([])
    expect(await questions(harmlessGitLines, bothProfiles)).toEqual([])
  })

  test('without a sandbox those cause none that are one plain command, and no git', async () => {
    const asked = await questions(harmlessLines)
    expect(harmlessLines.length - asked.length).toBeGreaterThan(100)
    expect(asked.filter((line) => !/there is no sandbox|no rule or approval covers it/.test(line))).toEqual([])
    expect(await questions(harmlessGitLines)).toHaveLength(harmlessGitLines.length)
  })

  test('other read-only programs need not even a rule, except beside what runs scripts', async () => {
    const rules = morePrograms.map((program) => `shell:${program}`)
    expect(await questions(harmlessLinesOfMore, bothProfiles, rules)).toEqual([])
    expect(await questions(harmlessLinesOfMore, bothProfiles)).toEqual([expect.stringContaining('npm test 2>&1')])
  })

  test('S02 a listing that follows links runs unasked in a sandbox alone', () => {
    const isSilent = ({ verdict }: Decision): boolean => verdict === 'allow'
    const follow = ['ls -LR', 'ls -laL src', 'ls --dereference -R', 'du -aL .', 'du --dereference']
    const silent = (cmds: readonly string[], sandbox?: SandboxSupport) =>
      linesThat(
        cmds.map((cmd) => ({ cmd })),
        isSilent,
        { launch: { mode: 'plan' }, ...(sandbox && { sandbox }) },
      )
    expect([silent(follow), silent(follow, bothProfiles)]).toEqual([[], follow])
    expect(silent(['ls -laR', 'du -a'])).toEqual(['ls -laR', 'du -a'])
  })

  test('T04 of 129 everyday lines a hundred cause no question in ask, and in plan those that only read', () => {
    const isSilent = ({ verdict }: Decision): boolean => verdict === 'allow'
    const lines = everydayLines.map(({ line }) => ({ cmd: line }))
    const silent = (mode: SecurityMode) => linesThat(lines, isSilent, { launch: { mode }, sandbox: bothProfiles })
    expect(silent('ask').length).toBeGreaterThanOrEqual(100)
    expect(silent('plan').length).toBeGreaterThanOrEqual(84)
    const strict = everydayLines.filter(({ isStrict }) => isStrict).map(({ line }) => line)
    for (const mode of ['ask', 'plan'] as const)
      expect(linesThat(lines, isSilent, { launch: { mode } })).toEqual(strict)
  })
})

describe('npm run shell-corpus', () => {
  const silent = { row: 'X-1', name: 'fine', cmd: 'echo "\u202e"; ls' }

  test('counts what would be stopped', async () => {
    const { code, stdout, stderr } = await corpus([{ row: 'X-2', name: 'a', cmd: 'ls; ./helper.sh' }, { cmd: 'rm f' }])
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: 'shell-corpus: 2 stopped, 0 silent\n', stderr: '' })
  })

  test('names what would run without a question', async () => {
    const { code, stdout } = await corpus([{ ...silent, cmd: 'ls\n' }, { cmd: './helper.sh' }])
    expect(stdout).toBe('silent X-1 fine: "ls\\n"\nshell-corpus: 1 stopped, 1 silent\n')
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

/** The lines that cause a question under the base policy. */
async function questions(
  lines: readonly string[],
  sandbox?: SandboxSupport,
  more: readonly string[] = [],
): Promise<string[]> {
  const asked: string[] = []
  for (const line of lines) {
    const { verdict, why } = await judge(line, false, sandbox, more)
    if (verdict !== 'allow') asked.push(`${verdict} ${shown(line)}: ${why}`)
  }
  return asked
}

function judge(
  command: string,
  isTrusted: boolean,
  sandbox?: SandboxSupport,
  more: readonly string[] = [],
): Promise<Explanation> {
  const launch = { ...basePolicy, allow: [...basePolicy.allow, ...more] }
  const location = { root: '/clone/work', home: '/home/other', isTrusted }
  return explainLine(command, { layers: { launch }, location, ...(sandbox && { sandbox }) }, reader.read)
}

/** The lines of which this is true, in a clone that is not trusted. */
function linesThat(
  lines: readonly { readonly cmd: string }[],
  isMeant: (decision: Decision) => boolean,
  { launch, sandbox }: { readonly launch: AuthoritySettings; readonly sandbox?: SandboxSupport },
): string[] {
  const location = { root: '/clone/work', home: '/home/other', isTrusted: false }
  const { mode, rules } = resolveSettings({ launch }, location)
  const context = { mode, rules, root: location.root, protect: createProtection(location), ...(sandbox && { sandbox }) }
  const isFound = ({ cmd }: { readonly cmd: string }): boolean =>
    isMeant(decide(shellCall(cmd, factsOf(cmd, location)), context))
  return lines.filter(isFound).map(({ cmd }) => cmd)
}

/** Lines are judged in several contexts, and read once. */
const known = new Map<string, ShellFacts>()
function factsOf(line: string, location: ShellLocation): ShellFacts {
  const facts = known.get(line) ?? shellFacts(readShell(line), location)
  known.set(line, facts)
  return facts
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
