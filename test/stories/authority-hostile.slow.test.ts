import { readFile, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, test } from 'vitest'
import { createAuthority } from '../../src/authority/authority.ts'
import { createStateMachine } from '../../src/authority/stages/state-machine.ts'
import {
  createMemoryStore,
  createProcessContext,
  createSession,
  createSpawnTool,
  loadSession,
} from '../../src/index.ts'
import { call, tool } from '../../src/testing/index.ts'
import { askUser, readFile as readFileTool, shell, writeFile as writeFileTool } from '../../src/tools/index.ts'
import type { Extension, ToolDef } from '../../src/types.ts'
import { temporary } from '../temporary.ts'
import { guarded, noting } from './authority-kit.ts'

const quiet = { 'hook:error': () => {} }
const closing = (): never => {
  throw Object.assign(new Error('closed'), { name: 'AbortError' })
}

describe('what is judged is what runs', () => {
  test.each<[string, (ctx: Record<string, unknown>) => void]>([
    ['wrong in its arguments', (ctx) => (ctx.rejected = 'no arguments')],
    ['another tool by name', (ctx) => (ctx.name = 'look')],
    ['another tool', (ctx) => (ctx.tool = undefined)],
    ['without effects', (ctx) => (ctx.effects = [])],
    ['with fewer effects', (ctx) => ((ctx.effects as unknown[]).length = 0)],
    ['nameless', (ctx) => delete ctx.name],
  ])('PI-08 a hook cannot pass a call off as one that is %s', async (_, meddle) => {
    const { tools, ran } = noting('mail', { effects: ['net'] })
    const { agent, results, records } = guarded(
      [[call('1', 'mail')], 'Done.'],
      { mode: 'ask', interactors: [] },
      {
        tools: { ...tools, ...noting('look', { gated: false }).tools },
        hooks: { ...quiet, 'tool:gate': meddle as never },
      },
    )
    await agent.run({ prompt: 'Write.' })
    expect(ran).toEqual([])
    expect(results()[0]).toMatch(/^Blocked: a gate failed: Cannot/)
    expect(records[0]).toMatchObject({ tool: 'mail', decision: { verdict: 'deny', by: 'hook' } })
  })

  test('a tool that is removed or replaced while a person is asked is judged as what it was', async () => {
    const share = { effects: ['net'], isConcurrencySafe: true } as const
    const { tools, ran } = noting('mail', share)
    const more = { ...tools, ...noting('first', share).tools, ...noting('last', share).tools }
    let change = (): void => {}
    const meanwhile: Extension = {
      name: 'meanwhile',
      start(run) {
        change = () => {
          run.tools.remove('mail')
          run.tools.replace(tool('last', () => 'harmless', { gated: false }))
        }
      },
    }
    const { agent, prompts, results } = guarded(
      [[call('1', 'first'), call('2', 'mail'), call('3', 'last')], 'Done.'],
      { mode: 'ask' },
      {
        tools: more,
        extensions: [meanwhile],
        answer: () => {
          change()
          return false
        },
      },
    )
    await agent.run({ prompt: 'Write.' })
    expect(prompts.map(({ payload }) => payload.toolId)).toEqual(['first', 'mail', 'last'])
    expect(results().every((text) => text.startsWith('Blocked'))).toBe(true)
    expect(ran).toEqual([])
  })

  test('a result in the place of a call is written down as one', async () => {
    const { tools, ran } = noting('mail')
    const hooks = { 'tool:gate': (ctx: { result?: unknown }) => void (ctx.result = 'sent, so to say') }
    const { agent, records } = guarded([[call('1', 'mail')], 'Done.'], { mode: 'yolo' }, { tools, hooks })
    await agent.run({ prompt: 'Write.' })
    expect(ran).toEqual([])
    expect(records.map(({ event }) => event)).toEqual(['ApprovalGranted', 'ToolInvocationSubstituted'])
  })
})

describe('tools that say nonsense about themselves', () => {
  const failing = async (): Promise<never> => {
    throw new Error('boom')
  }
  const cases: [string, Record<string, unknown>][] = [
    ['touches', { touches: () => failing() }],
    ['touches', { touches: () => null }],
    ['touches', { touches: () => [{ path: 5, access: 'write' }] }],
    ['touches', { touches: () => [{ path: 'a', access: 'look' }] }],
    ['commandLine', { commandLine: () => failing() }],
    ['commandLine', { commandLine: () => ({ command: 5 }) }],
    ['commandLine', { commandLine: () => ({ command: 'ls', cwd: 5 }) }],
    ['reaches', { effects: ['net'], reaches: () => failing() }],
    ['reaches', { effects: ['net'], reaches: () => 'example.org' }],
  ]
  test.each(cases)(
    'B052 a call whose %s cannot be told is refused, with the reason, and the run goes on (%#)',
    async (field, more) => {
      const { tools, ran } = noting('mail', { effects: ['fs.write'], ...more } as Partial<ToolDef>)
      const { agent, results, records } = guarded([[call('1', 'mail')], 'Done.'], { mode: 'yolo' }, { tools })
      expect(await agent.run({ prompt: 'Write.' })).toMatchObject({ status: 'completed' })
      expect(ran).toEqual([])
      expect(results()[0]).toMatch(new RegExp(`^Blocked: ToolTerminal/ToolFactsInvalid: ${field} of mail failed`))
      expect(records[0]).toMatchObject({ event: 'ApprovalDenied', decision: { code: 'ToolFactsInvalid' } })
    },
  )

  test.each<[string, Partial<ToolDef>]>([
    ['fails later', { effects: failing as never }],
    ['is a text', { effects: (() => 'net') as never }],
    ['names an unknown effect', { effects: () => ['fs.wriet'] as never }],
  ])('a list of effects that %s may be anything, and is asked about', async (_, more) => {
    const { tools } = noting('mail', more)
    const { agent, prompts } = guarded([[call('1', 'mail')], 'Done.'], { mode: 'ask' }, { tools, answer: () => false })
    await agent.run({ prompt: 'Write.' })
    expect(prompts[0]?.payload.call).toMatchObject({ effects: [{ effect: 'unknown' }] })
  })

  test.each<[string, Partial<ToolDef>]>([
    ['names no files', { effects: ['fs.write'], touches: () => [] }],
    ['names only what it reads', { effects: ['fs.read', 'fs.write'], touches: () => [{ path: 'a', access: 'read' }] }],
    ['declares nothing, but names a file to write', { effects: [], touches: () => [{ path: 'a', access: 'write' }] }],
  ])('a tool that %s writes all the same', async (_, more) => {
    const { tools, ran } = noting('mail', more)
    for (const authority of [{ mode: 'ask' }, { mode: 'yolo', deny: ['fs.write'] }, { mode: 'plan' }] as const) {
      const script = [[call('1', 'mail')], 'Done.']
      await guarded(script, authority, { tools, answer: () => false }).agent.run({ prompt: 'Write.' })
    }
    expect(ran).toEqual([])
  })

  test.each(['constructor', '__proto__', 'toString --help'])(
    'the program %s is asked about like any other',
    async (command) => {
      const { agent, prompts } = guarded(
        [[call('1', 'shell', { command })], 'Done.'],
        { mode: 'ask' },
        { tools: { shell }, answer: () => false },
      )
      await agent.run({ prompt: 'Run it.' })
      expect(prompts).toHaveLength(1)
    },
  )
})

describe('settings', () => {
  test('a misspelt option is refused: an ignored rule would not apply', async () => {
    const wrong = { mode: 'yolo', denny: ['mail'] } as never
    expect(() => createAuthority(wrong)).toThrow(
      'Validation/InvalidAuthorityOption: authority: there is no option "denny"',
    )
    expect(() => createAuthority({}).narrow(wrong)).toThrow('denny')
    expect(() => createAuthority({ approvalTimeoutMs: 0 })).toThrow('approvalTimeoutMs must be')
    expect(() => createAuthority({ answerSecret: new Uint8Array(31) })).toThrow('answerSecret must be at least 32')
    const { tools, ran } = noting('mail')
    await expect(guarded([[call('1', 'mail')]], wrong, { tools }).agent.run({ prompt: 'Go.' })).rejects.toThrow('denny')
    expect(ran).toEqual([])
  })
})

describe('files', () => {
  test('the home folder and URLs lie outside the workspace, however they are written', async () => {
    const root = await temporary('workspace-')
    const elsewhere = await temporary('elsewhere-')
    await writeFile(join(elsewhere, 'a.txt'), 'alpha')
    const paths = [
      '~/not-there.txt',
      '~',
      pathToFileURL(join(elsewhere, 'a.txt')).href,
      'file://%zz',
      'FILE:///etc/hostname',
    ]
    const { agent, prompts } = guarded(
      [paths.map((path, i) => call(String(i), 'read_file', { path })), 'Done.'],
      { mode: 'ask' },
      { tools: { readFileTool }, execution: createProcessContext({ cwd: root, roots: 'any' }), answer: () => false },
    )
    await agent.run({ prompt: 'Read.' })
    const targets = prompts.map(({ payload }) => (payload.call as { effects: { target: string }[] }).effects[0]?.target)
    expect(targets).toEqual([
      join(homedir(), 'not-there.txt'),
      homedir(),
      join(elsewhere, 'a.txt'),
      '/',
      '/etc/hostname',
    ])
  })

  test('FS-21 the name of a file does not keep its change from being seen', async () => {
    const root = await temporary('edit-')
    const path = '__proto__'
    await writeFile(join(root, path), 'old')
    let asked = 0
    const { agent } = guarded(
      [[call('1', 'write_file', { path, content: 'new' })], 'Done.'],
      { mode: 'ask' },
      {
        tools: { writeFileTool },
        execution: createProcessContext({ cwd: root }),
        behavior: { requireReadBeforeEdit: false },
        answer: async () => {
          if (++asked === 1) await writeFile(join(root, path), 'changed meanwhile')
          return asked === 1
        },
      },
    )
    await agent.run({ prompt: 'Write.' })
    expect(asked).toBe(2)
    expect(await readFile(join(root, path), 'utf8')).toBe('changed meanwhile')
  })
})

describe('people', () => {
  test('closing a question cancels the run, and that is recorded', async () => {
    const { tools, ran } = noting('mail')
    const { agent, records, prompts } = guarded(
      [[call('1', 'mail'), call('2', 'mail')], 'Done.'],
      { mode: 'ask' },
      { tools, answer: closing },
    )
    await expect(agent.run({ prompt: 'Write.' })).rejects.toThrow('aborted')
    expect(ran).toEqual([])
    expect(prompts).toHaveLength(1)
    expect(records.at(-1)).toMatchObject({ event: 'ApprovalCancelled', callId: '1' })
  })

  test('also a question of the model', async () => {
    const { agent } = guarded(
      [[call('1', 'ask_user', { question: 'Which?' })], 'Done.'],
      { mode: 'ask' },
      { tools: { askUser }, answer: closing },
    )
    await expect(agent.run({ prompt: 'Ask.' })).rejects.toThrow('aborted')
  })

  test('B030 a denial from elsewhere reads like one from here, and names who gave it', async () => {
    const store = createMemoryStore()
    const { tools } = noting('mail')
    const headless = { mode: 'ask', interactors: [] } as const
    const session = await createSession({ store, id: 's' })
    await guarded([[call('1', 'mail')]], headless, { tools, session }).agent.run({ prompt: 'Go.' })
    await (await loadSession(store, 's')).answer('1', { decision: 'deny', by: 'ann', content: 'not today' })
    const { agent, results, records } = guarded(['I see.'], headless, { tools, session: await loadSession(store, 's') })
    await agent.run()
    expect(results()[0]).toBe('Blocked: ToolTerminal/ApprovalDenied: denied by ann: not today')
    expect(records[0]).toMatchObject({ approver: 'ann', decision: { by: 'person', code: 'ApprovalDenied' } })
  })

  test('PI-13 a forged answer while a person is asked changes nothing, and leaves the question open', async () => {
    const store = createMemoryStore()
    const { tools, ran } = noting('mail')
    const session = await createSession({ store, id: 's' })
    const forged = { decision: 'allow', by: 'mallory', mac: 'f'.repeat(64) } as const
    let asked: unknown
    const answer = async (): Promise<boolean> => {
      const { approvals } = agent.log.transcript
      const { seq } = approvals.get('1')!
      await (await loadSession(store, 's')).answer('1', forged)
      await expect.poll(() => approvals.get('1')!.seq).toBe(seq + 2)
      asked = approvals.get('1')
      return false
    }
    const { agent } = guarded([[call('1', 'mail')], 'Done.'], { mode: 'ask' }, { tools, session, answer })
    await agent.run({ prompt: 'Go.' })
    expect(asked).toMatchObject({ type: 'approval_requested', request: { kind: 'Approve', toolId: 'mail' } })
    expect(ran).toEqual([])
  })

  test('with stages, each call is asked about when its turn has come, and only if its stage leaves it to a person', async () => {
    const mail = noting('mail')
    const look = noting('look')
    const stateMachine = createStateMachine({
      start: 'work',
      stages: [
        {
          ...{ id: 'work', body: 'Work.', allowedTools: ['look'], turnCap: 1 },
          ...{ completionTool: 'done', completionSchema: { type: 'object' } },
          grantStageTool: () => 'defer',
          next: () => undefined,
        },
      ],
    })
    const { agent, prompts } = guarded(
      [[call('1', 'mail'), call('2', 'look')], 'Done.'],
      { mode: 'ask', batchPrompts: true, stateMachine },
      { tools: { ...mail.tools, ...look.tools } },
    )
    await agent.run({ prompt: 'Go.' })
    expect(prompts.map(({ kind, payload }) => [kind, payload.toolId])).toEqual([['grantStageTool', 'mail']])
    expect([mail.ran.length, look.ran.length]).toEqual([1, 1])
  })
})

describe('children with rules of their own', () => {
  const task = (id: string): ReturnType<typeof call> => call(id, 'spawn', { task: 'help', preset: 'own' })

  test('AG-02 an authority in a preset stands beside that of the parent: what both allow is allowed', async () => {
    const mail = noting('mail')
    const look = noting('look')
    const own = createAuthority({ mode: 'yolo', deny: ['mail'] })
    const spawn = createSpawnTool({ presets: { own: { authority: own } } })
    const { agent, results } = guarded(
      [[task('1')], [call('2', 'mail'), call('3', 'look')], 'b', 'a'],
      { mode: 'yolo', deny: ['look'] },
      { tools: { ...mail.tools, ...look.tools, spawn } },
    )
    await agent.run({ prompt: 'Go.' })
    expect(results()).toEqual(['b'])
    expect([mail.ran, look.ran]).toEqual([[], []])
    await own.close()
  })

  test('SH-53 an approval of a command of a child ends when the script changes, even if its parent never asks', async () => {
    const root = await temporary('npm-')
    const script = (line: string): Promise<void> =>
      writeFile(join(root, 'package.json'), JSON.stringify({ scripts: { test: line } }))
    await script('true')
    await writeFile(join(root, 'npm'), '#!/bin/sh\n', { mode: 0o755 })
    const spawn = createSpawnTool({ presets: { own: { authority: { ask: ['shell'] } } } })
    const npm = (id: string): ReturnType<typeof call> => call(id, 'shell', { command: 'npm test --silent' })
    const { agent, prompts } = guarded(
      [
        [task('1')],
        [npm('2'), npm('3')],
        async () => {
          await script('false')
          return [npm('4')]
        },
        'b',
        'a',
      ],
      { mode: 'yolo', workspace: { isTrusted: true } },
      {
        tools: { shell, spawn },
        execution: createProcessContext({ cwd: root, env: { PATH: `${root}:/usr/bin:/bin` } }),
        answer: () => 'session',
      },
    )
    await agent.run({ prompt: 'Test.' })
    expect(prompts.map(({ payload }) => (payload.call as { callId: string }).callId)).toEqual(['2', '4'])
  })

  test('the time limits of the parent’s rules hold for its children', async () => {
    const slow = tool('slow', () => new Promise(() => {}))
    const spawn = createSpawnTool({ presets: { own: { authority: { mode: 'yolo' } } } })
    const { agent, records } = guarded(
      [[task('1')], [call('2', 'slow')], 'b', 'a'],
      { mode: 'yolo', tools: { slow: { timeoutMs: 10 } } },
      { tools: { slow, spawn } },
    )
    await agent.run({ prompt: 'Go.' })
    expect(records.filter(({ tool }) => tool === 'slow').at(-1)).toMatchObject({ event: 'ToolInvocationFailed' })
  })
})
