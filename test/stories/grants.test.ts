import { mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { ExecutionContext, SandboxProfile } from '../../src/core/execution.ts'
import { createMemoryStore, createProcessContext, createSession, type ToolDef } from '../../src/index.ts'
import { call } from '../../src/testing/index.ts'
import { shell, writeFile as writeFileTool } from '../../src/tools/index.ts'
import { temporary } from '../temporary.ts'
import { guarded, noting } from './authority-kit.ts'

type Place = 'inside' | 'outside'
interface Desk {
  readonly root: string
  readonly home: string
  readonly scope: 'once' | 'session' | 'project'
  readonly where?: Place
  /** The rule that the person keeps. */
  readonly rule?: string
  readonly tools?: Record<string, ToolDef>
  /** The sandboxes of the machine. */
  readonly profiles?: readonly SandboxProfile[]
  /** Collects where commands ran. */
  readonly ran?: unknown[]
}

const line = (command: string, id = command) => call(id, 'shell', { command })
const write = (path: string) => call(path, 'write_file', { path, content: 'x' })

/** Which of the calls a person was asked about, in a session of its own, in a folder of this machine. */
async function askedAbout(calls: ReturnType<typeof call>[], desk: Desk): Promise<string[]> {
  const { root, home, scope, where, rule, tools = { shell, writeFileTool } } = desk
  const { agent, prompts } = guarded(
    [...calls.map((one) => [one]), 'Done.'],
    { mode: 'ask', home, workspace: { root } },
    {
      tools,
      execution: filesOf(root, desk),
      session: await createSession({ store: createMemoryStore() }),
      answer: () => ({ scope, ...(where && { where }), ...(rule && { rule }) }),
    },
  )
  await agent.run({ prompt: 'Go.' })
  return prompts.map(({ payload }) => (payload.call as { callId: string }).callId)
}

/** The files of this machine, and commands that do nothing. */
function filesOf(cwd: string, { profiles = [], ran = [] }: Pick<Desk, 'profiles' | 'ran'> = {}): ExecutionContext {
  return {
    ...createProcessContext({ cwd }),
    sandbox: async () => ({ profiles }),
    async exec(_, command, { confinement } = {}) {
      ran.push([command, confinement?.profile ?? 'outside'])
      return { stdout: 'ran', stderr: '', exitCode: 0 }
    },
  }
}

async function folders() {
  return { home: await temporary('home-'), a: await temporary('a-'), b: await temporary('b-') }
}

test('T03 an approval of touch f0.txt in this session covers touch f1.txt, and no other program', async () => {
  const { home, a } = await folders()
  const asked = await askedAbout([line('touch f0.txt'), line('touch f1.txt'), line('mkdir d'), line('touch ../out')], {
    ...{ root: a, home, scope: 'session' },
  })
  expect(asked).toEqual(['touch f0.txt', 'mkdir d', 'touch ../out'])
  expect(await askedAbout([line('touch f2.txt')], { root: a, home, scope: 'session' })).toEqual(['touch f2.txt'])
})

test('UI108 a rule that the person keeps covers what it says, in this project and sandbox, and is listed in words', async () => {
  const { home, a, b } = await folders()
  const desk = { root: a, home, scope: 'project', profiles: ['workspace-write'] } as const
  const kept = { ...desk, rule: 'shell:npm run *' }
  expect(await askedAbout([line('npm run build'), line('npm run lint'), line('npm test')], kept)).toEqual([
    'npm run build',
    'npm test', // the rule does not cover it, so it is allowed once
  ])
  expect(await askedAbout([line('npm run x'), line('npm test')], { ...desk, scope: 'once' })).toEqual(['npm test'])
  expect(await askedAbout([line('npm run x')], { ...desk, scope: 'once', root: b })).toEqual(['npm run x'])
  expect(await askedAbout([line('npm run x')], { ...desk, scope: 'once', profiles: [] })).toEqual(['npm run x'])
  const { grants } = JSON.parse(await readFile(join(home, 'grants.json'), 'utf8'))
  expect(grants).toMatchObject([
    { rule: 'shell:npm run *', covers: 'every `npm run *` in this project (and any further words)' },
  ])
  expect(grants).toHaveLength(1)
})

test('UI108 a rule that the person keeps covers no line that starts in another folder', async () => {
  const { home, a } = await folders()
  const kept = { root: a, home, scope: 'project', profiles: ['workspace-write'], rule: 'shell:make' } as const
  const make = (id: string, cwd: string) => call(id, 'shell', { command: 'make', cwd })
  await mkdir(join(a, 'vendor'))
  const calls = [line('make'), make('here', '.'), make('below', 'vendor'), make('again', 'vendor')]
  expect(await askedAbout(calls, kept)).toEqual(['make', 'below', 'again'])
})

test('UI108 a rule covers no call that obeys a file to which its grant is not bound', async () => {
  const { home, a } = await folders()
  const desk = { root: a, home, scope: 'project', profiles: ['workspace-write'] } as const
  await mkdir(join(a, 'sub/deep'), { recursive: true })
  for (const file of ['Makefile', 'sub/Makefile', 'sub/deep/x.mk', 'other.mk']) await writeFile(join(a, file), 'all:')
  const others = [
    'make -C sub all',
    'make -Csub',
    'make --directory=sub',
    'make -f other.mk',
    'make -kfother.mk',
    'make -C sub -C deep -fx.mk',
  ]
  const calls = ['make build', 'make test', ...others].map((one) => line(one))
  expect(await askedAbout(calls.slice(0, 2), { ...desk, rule: 'shell:make *' })).toEqual(['make build'])
  expect(await askedAbout(calls, { ...desk, scope: 'once' })).toEqual(others)
  const again = [line('make -C sub all'), line('make -C sub test')]
  expect(await askedAbout(again, { ...desk, rule: 'shell:make *' })).toEqual(['make -C sub all'])
})

test('UI108 a rule in an answer never widens it: one that is not offered or not valid counts once', async () => {
  const { home, a } = await folders()
  const desk = { root: a, home, scope: 'project', profiles: ['workspace-write'] } as const
  const twice = [line('touch a', '1'), line('touch a', '2')]
  for (const rule of ['shell:*', 'shell', 'exec', 'shell:mkdir *', 'Bash(*)'])
    expect(await askedAbout(twice, { ...desk, rule })).toEqual(['1', '2'])
  const outside = { ...desk, profiles: [], rule: 'shell:touch *' }
  expect(await askedAbout(twice, outside)).toEqual(['1', '2'])
  expect(await askedAbout(twice, { ...desk, scope: 'session', rule: 'shell:touch *' })).toEqual(['1', '2'])
})

test('T03 an approval of a call of an MCP tool covers its other arguments, in this project alone', async () => {
  const { home, a, b } = await folders()
  const search: ToolDef = {
    spec: { name: 'mcp_github_search', description: 'Searches.', inputSchema: { type: 'object' } },
    execute: () => 'found',
    mcp: { server: 'github', tool: 'search' },
    origin: { layer: 'mcp', path: 'github', digest: 'd1' },
  }
  const find = (q: string) => call(q, 'mcp_github_search', { q })
  const desk = { home, scope: 'project', tools: { search } } as const
  expect(await askedAbout([find('one'), find('two')], { ...desk, root: a })).toEqual(['one'])
  expect(await askedAbout([find('three')], { ...desk, root: a })).toEqual([])
  expect(await askedAbout([find('four')], { ...desk, root: b })).toEqual(['four'])
})

test('S09 write_file in the top folder of one project is asked about again in another, and in its subfolders', async () => {
  const { home, a, b } = await folders()
  const calls = [write('x.txt'), write('y.txt'), write('src/z.txt')]
  expect(await askedAbout(calls, { root: a, home, scope: 'project' })).toEqual(['x.txt', 'src/z.txt'])
  expect(await askedAbout([write('again.txt')], { root: a, home, scope: 'once' })).toEqual([])
  expect(await askedAbout([write('x.txt')], { root: b, home, scope: 'once' })).toEqual(['x.txt'])
})

test('S09 a project is known by its real path: a link to it counts as the same, a moved link as another', async () => {
  const { home, a, b } = await folders()
  const links = await temporary('links-')
  const link = join(links, 'link')
  await symlink(a, link)
  expect(await askedAbout([write('x.txt')], { root: link, home, scope: 'project' })).toEqual(['x.txt'])
  expect(await askedAbout([write('y.txt')], { root: a, home, scope: 'once' })).toEqual([])
  await rm(link)
  await symlink(b, link)
  expect(await askedAbout([write('y.txt')], { root: link, home, scope: 'once' })).toEqual(['y.txt'])
})

test('S09 without a sandbox, commands are approved for a session at most, whatever is answered', async () => {
  const { home, a } = await folders()
  const calls = [line('pytest -q', '1'), line('pytest -q', '2')]
  expect(await askedAbout(calls, { root: a, home, scope: 'project' })).toEqual(['1', '2'])
  expect(await askedAbout(calls, { root: a, home, scope: 'session' })).toEqual(['1'])
  expect(await askedAbout(calls, { root: a, home, scope: 'once' })).toHaveLength(2)
  const { grants } = JSON.parse(await readFile(join(home, 'grants.json'), 'utf8'))
  expect(grants).toMatchObject([
    { scope: 'session', within: 'outside', project: a, covers: 'exactly `pytest -q` in this project' },
  ])
})

const everySandbox = ['read-only', 'workspace-write'] as const

test('T03 always in this project runs inside the sandbox, in new sessions too, and another project asks again', async () => {
  const { home, a, b } = await folders()
  const ran: unknown[] = []
  const desk = { home, scope: 'project', profiles: everySandbox, ran } as const
  for (const command of ['pytest -q', 'make', 'npm test', 'python3 a.py', 'touch x']) {
    expect(await askedAbout([line(command, '1'), line(command, '2')], { ...desk, root: a })).toEqual(['1'])
    expect(await askedAbout([line(command)], { ...desk, root: a })).toEqual([])
    expect(await askedAbout([line(command)], { ...desk, scope: 'once', root: b })).toEqual([command])
  }
  expect(new Set(ran.map((one) => JSON.stringify(one)))).toHaveLength(5)
  for (const one of ran) expect(one).not.toContain('outside')
})

test('T03 once outside runs outside and is not remembered; a project grant counts in no session without a sandbox', async () => {
  const { home, a } = await folders()
  const ran: unknown[] = []
  const twice = [line('make', '1'), line('make', '2')]
  const desk = { root: a, home, ran, profiles: everySandbox } as const
  expect(await askedAbout(twice, { ...desk, scope: 'once', where: 'outside' })).toEqual(['1', '2'])
  expect(await askedAbout(twice, { ...desk, scope: 'project', where: 'outside' })).toEqual(['1', '2'])
  expect(ran).toEqual(Array(4).fill(['make', 'outside']))
  expect(await askedAbout(twice, { ...desk, scope: 'project' })).toEqual(['1'])
  expect(await askedAbout(twice, { ...desk, scope: 'once', profiles: [] })).toEqual(['1', '2'])
})

test.each([
  ['make', 'Makefile'],
  ['pytest -q', 'conftest.py'],
  ['tsc', 'tsconfig.json'],
])(
  'S09 %s is asked about again when %s changed, by every grant that was bound to the old one',
  async (command, file) => {
    const { home, a } = await folders()
    await writeFile(join(a, file), 'before')
    const change = async (): Promise<ReturnType<typeof call>[]> => {
      await writeFile(join(a, file), 'after')
      return [line(command, 'changed')]
    }
    const { agent, prompts } = guarded(
      [[line(command, 'first')], [line(command, 'same')], change, 'Done.'],
      { mode: 'ask', home, workspace: { root: a } },
      {
        tools: { shell },
        execution: filesOf(a),
        answer: () => 'session',
      },
    )
    await agent.run({ prompt: 'Go.' })
    expect(prompts.map(({ payload }) => (payload.call as { callId: string }).callId)).toEqual(['first', 'changed'])
  },
)

test('S09 an answer that wants a sandbox where there is none is a no', async () => {
  const { home, a } = await folders()
  const { agent, results } = guarded(
    [[line('touch x')], 'Done.'],
    { mode: 'ask', home, workspace: { root: a } },
    {
      tools: { shell },
      execution: filesOf(a),
      answer: () => ({ where: 'inside' }),
    },
  )
  await agent.run({ prompt: 'Go.' })
  expect(results()[0]).toContain('it was allowed inside a sandbox, and there is none')
})

test('S09 a grant that is given with others is not bound to a file that changed while the person was deciding', async () => {
  const { home, a } = await folders()
  await Promise.all(['Makefile', 'conftest.py'].map((file) => writeFile(join(a, file), 'before')))
  const { agent, prompts } = guarded(
    [[line('make', '1'), line('pytest -q', '2')], 'Done.'],
    { mode: 'ask', home, workspace: { root: a }, batchPrompts: true },
    {
      tools: { shell },
      execution: filesOf(a),
      answer: async ({ payload }) => {
        if (payload.call) return 'once'
        await writeFile(join(a, 'conftest.py'), 'after')
        return { scope: 'session', calls: { 1: 'allow', 2: 'allow' } }
      },
    },
  )
  await agent.run({ prompt: 'Go.' })
  const asked = prompts.map(({ payload }) => (payload.calls ?? [payload]) as { call: { callId: string } }[])
  expect(asked.map((calls) => calls.map(({ call }) => call.callId))).toEqual([['1', '2'], ['2']])
})

test('an answer whose grant ends is logged for its call only, so that the grant cannot come back without its end', async () => {
  const { tools } = noting('mail')
  const { agent, prompts } = guarded(
    [[call('1', 'mail')], [call('2', 'mail')], 'Done.'],
    { mode: 'ask' },
    { tools, answer: () => ({ scope: 'session', expiresAt: Date.now() + 60_000 }) },
  )
  await agent.run({ prompt: 'Go.' })
  expect(prompts).toHaveLength(1)
  const logged = agent.log.transcript.approvals.get('1')
  expect(logged).toMatchObject({ type: 'approval_answered', decision: 'allow' })
  expect(logged).not.toHaveProperty('scope')
})
