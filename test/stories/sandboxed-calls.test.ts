import { expect, test } from 'vitest'
import { createAuthority } from '../../src/authority/index.ts'
import type { Confinement, ExecutionContext } from '../../src/core/execution.ts'
import { createAgent, createMemoryStore, createSession, loadSession } from '../../src/index.ts'
import { call, memoryExecution, scripted } from '../../src/testing/index.ts'
import { createShellTool, grep } from '../../src/tools/index.ts'
import { guarded } from './authority-kit.ts'

const shell = createShellTool()
const run = (id: string, command: string) => call(id, 'shell', { command })

/** A context that notes where each command ran. */
function noted() {
  const ran: string[] = []
  const place = (confinement?: Confinement) => confinement?.profile ?? 'outside'
  const execution = memoryExecution({
    exec(command, { confinement }) {
      ran.push(`${command}: ${place(confinement)}`)
      return {}
    },
  })
  return { ran, execution }
}

test('SB01 what a rule allows runs in what was judged, and the decision says so everywhere', async () => {
  const { ran, execution } = noted()
  const { agent, records } = guarded(
    [[run('1', 'make'), call('2', 'grep', { pattern: 'x' })], 'Done.'],
    { allow: ['shell:make'] },
    { tools: { shell, grep }, execution },
  )
  const seen: unknown[] = []
  agent.hooks.hook('tool:decision', ({ callId, decision }) => void seen.push([callId, decision.confinement]))
  await agent.run({ prompt: 'Go.' })
  await agent.destroy()
  expect(ran[0]).toBe('make: workspace-write')
  expect(ran.slice(1).every((one) => one.endsWith(': read-only'))).toBe(true)
  const reach = (profile: string) =>
    expect.objectContaining({ profile, reads: [], writes: [], hosts: [], home: 'empty' })
  expect(seen).toEqual([
    ['1', reach('workspace-write')],
    ['2', reach('read-only')],
  ])
  expect(records.find(({ event }) => event === 'ApprovalGranted')?.decision?.confinement).toEqual(
    reach('workspace-write'),
  )
})

test('SB01 what its commands reach is part of the digest that a person approves', async () => {
  const { execution } = noted()
  const { sandbox: _, ...without } = execution
  const digests = []
  for (const context of [execution, execution, without]) {
    const { agent, prompts } = guarded([[run('1', 'make')], 'Done.'], {}, { tools: { shell }, execution: context })
    await agent.run({ prompt: 'Go.' })
    await agent.destroy()
    digests.push(prompts[0]!.payload.digest)
  }
  expect(digests[1]).toBe(digests[0])
  expect(digests[2]).not.toBe(digests[0])
})

test('a person allows a call inside the sandbox that the prompt names, or once outside of any', async () => {
  const { ran, execution } = noted()
  const answers = ['once', { where: 'outside' }, 'session']
  const { agent, prompts } = guarded(
    [[run('1', 'make a')], [run('2', 'make b')], [run('3', 'make c')], [run('4', 'make c')], 'Done.'],
    {},
    { tools: { shell }, execution, answer: () => answers.shift() },
  )
  await agent.run({ prompt: 'Go.' })
  await agent.destroy()
  expect(ran).toEqual([
    'make a: workspace-write',
    'make b: outside',
    'make c: workspace-write',
    'make c: workspace-write',
  ])
  expect(prompts.map(({ payload }) => payload.description)).toEqual(
    Array(3).fill(
      expect.stringContaining('commands run: in the sandbox workspace-write: no network; home not visible'),
    ),
  )
})

test('an approval for one place does not count for a wider one, nor without a sandbox', async () => {
  const { ran, execution } = noted()
  const { sandbox: _, ...without } = execution
  const answers: unknown[] = ['session', 'once', 'session']
  const authority = createAuthority({ interactors: [() => answers.shift()] })
  const session = await createSession({ store: createMemoryStore(), id: 's' })
  const play = async (context: ExecutionContext, more = {}) => {
    const provider = scripted([call('1', 'shell', { command: 'make', ...more })], 'Done.')
    const agent = createAgent({ provider, session, tools: { shell }, execution: context, authority })
    await agent.run({ prompt: 'Go.' })
  }
  await play(execution)
  expect(authority.grants.list()).toMatchObject([
    { scope: 'session', within: { profile: 'workspace-write', reads: [] } },
  ])
  await play(execution)
  expect(answers).toHaveLength(2)
  await play(execution, { outside: true })
  expect(answers).toHaveLength(1)
  await play(without)
  expect(answers).toHaveLength(0)
  await play(without)
  await authority.close()
  expect(ran.map((one) => one.slice(6))).toEqual([
    'workspace-write',
    'workspace-write',
    'outside',
    'outside',
    'outside',
  ])
})

test('an answer from elsewhere says where it runs, and its signature covers that', async () => {
  const answerSecret = new Uint8Array(32).fill(7)
  const play = async (where: 'inside' | 'outside', tamper = false) => {
    const { ran, execution } = noted()
    const store = createMemoryStore()
    const session = await createSession({ store, id: 's' })
    const provider = scripted([run('1', 'make')], 'Done.')
    const agent = createAgent({ provider, session, tools: { shell }, execution, authority: { answerSecret } })
    await agent.run({ prompt: 'Go.' })
    const authority = createAuthority({ answerSecret })
    const waiting = await loadSession(store, 's')
    const { answer } = waiting
    if (tamper) waiting.answer = (id, given) => answer.call(waiting, id, { ...given, where: 'outside' })
    await authority.answer(waiting, '1', { decision: 'allow', where })
    const { stopReason } = await agent.run()
    await agent.destroy()
    return [...ran, stopReason]
  }
  expect(await play('inside')).toEqual(['make: workspace-write', 'end'])
  expect(await play('outside')).toEqual(['make: outside', 'end'])
  expect(await play('inside', true)).toEqual(['permission-required'])
})

test('SB06 a command that asks to run outside is put to a person, who learns that it ran already', async () => {
  const { ran, execution } = noted()
  const leave = (id: string, command: string) =>
    call(id, 'shell', { command, outside: true, reason: 'The registry cannot be reached.' })
  const { agent, prompts } = guarded(
    [[run('1', 'make')], [leave('2', 'make')], [leave('3', 'ls')], [leave('4', 'ls')], 'Done.'],
    { mode: 'yolo' },
    { tools: { shell }, execution, answer: ({ payload }) => (payload.approvalKey === 'ls' ? 'session' : 'once') },
  )
  await agent.run({ prompt: 'Go.' })
  await agent.destroy()
  expect(ran).toEqual(['make: workspace-write', 'make: outside', 'ls: outside', 'ls: outside'])
  const [first, second] = prompts.map(({ payload }) => String(payload.description))
  expect(prompts).toHaveLength(2)
  expect(first).toContain('asked because: it asks to run outside any sandbox; this is asked about in every mode')
  expect(first).toContain('commands run: OUTSIDE any sandbox')
  expect(first).toContain('reason: The registry cannot be reached.')
  expect(first).toContain('It ran already in this session, in the sandbox workspace-write')
  expect(second).not.toContain('It ran already')
})

test('SB06 in plan, and where no person can be asked, a command that asks to run outside is refused', async () => {
  for (const authority of [{ mode: 'plan' }, { mode: 'yolo', headless: 'yolo', interactors: [] }] as const) {
    const { ran, execution } = noted()
    const script = [[call('1', 'shell', { command: 'ls', outside: true })], 'Done.']
    const { agent, results } = guarded(script, authority, { tools: { shell }, execution })
    await agent.run({ prompt: 'Go.' })
    await agent.destroy()
    expect(ran).toEqual([])
    expect(results()[0]).toMatch(/asks to run outside any sandbox/)
  }
})

test('in yolo a command does not run outside because the sandbox cannot be tried, and runs in it once that has passed', async () => {
  const { ran, execution } = noted()
  const found = [new Error('EMFILE: too many open files'), new Error('EMFILE: too many open files')]
  const failing: ExecutionContext = {
    ...execution,
    async sandbox(handle) {
      const failure = found.shift()
      if (failure) throw failure
      return execution.sandbox!(handle)
    },
  }
  const { agent, prompts } = guarded(
    [[run('1', 'make a')], [run('2', 'make b')], 'Done.'],
    { mode: 'yolo' },
    { tools: { shell }, execution: failing, answer: () => false },
  )
  await agent.run({ prompt: 'Go.' })
  await agent.destroy()
  expect(prompts.map(({ payload }) => String(payload.description).split('\n')[2])).toEqual([
    'asked because: the mode is yolo, but the sandbox cannot be used now: EMFILE: too many open files',
  ])
  expect(ran).toEqual(['make b: workspace-write'])
})

test('a container that can only write runs what a rule allows, and asks about other lines that only read', async () => {
  const ran: string[] = []
  const memory = memoryExecution({
    exec(command, { confinement }) {
      ran.push(`${command}: ${confinement?.profile}`)
      return {}
    },
  })
  const execution: ExecutionContext = {
    ...memory,
    sandbox: async () => ({ profiles: ['workspace-write'], by: 'docker' }),
  }
  const { agent, prompts } = guarded(
    [[run('1', 'make'), run('2', 'ls'), run('3', 'ls *.ts'), run('4', 'cat $(ls)')], 'Done.'],
    { allow: ['shell:make'] },
    { tools: { shell }, execution, answer: () => false },
  )
  await agent.run({ prompt: 'Go.' })
  await agent.destroy()
  expect(ran.sort()).toEqual(['ls: workspace-write', 'make: workspace-write'])
  expect(prompts.map(({ payload }) => String(payload.description).split('\n')[2])).toEqual(
    Array(2).fill(
      'asked because: it only reads inside the workspace, but the execution context has no sandbox read-only',
    ),
  )
})
