import { describe, expect, test } from 'vitest'
import type { AuditRecord } from '../../core/authority.ts'
import type { ToolDef } from '../../core/tool.ts'
import { createAgent, createMemoryStore, createSession, createSpawnTool, loadSession } from '../../index.ts'
import { call, type Step, scripted, tool } from '../../testing/index.ts'
import type { Stage, StageContext } from './stages.ts'
import { createStateMachine, type StateMachine } from './state-machine.ts'

const stage = (id: string, more: Partial<Stage> = {}): Stage => ({
  ...{ id, body: `You are in ${id}.`, turnCap: 5, completionTool: `finish_${id}` },
  completionSchema: { type: 'object', properties: { note: { type: 'string' } } },
  next: () => undefined,
  ...more,
})

describe('the way through the stages', () => {
  test('advances by completion, with the instructions and the completion tool of the current stage only', async () => {
    const machine = createStateMachine({
      start: 'plan',
      stages: [stage('plan', { next: () => 'build' }), stage('build')],
    })
    const { provider, run } = agentWith(machine, [
      [call('1', 'finish_plan', { note: 'a' })],
      [call('2', 'finish_build')],
    ])
    expect(machine.status).toBe('idle')
    expect(await run()).toMatchObject({ status: 'completed' })
    expect(provider.requests.map(({ system }) => system)).toEqual(['You are in plan.', 'You are in build.'])
    expect(provider.requests.map(({ tools }) => tools.map(({ name }) => name))).toEqual([
      ['look', 'finish_plan'],
      ['look', 'finish_build'],
    ])
    expect(machine).toMatchObject({ status: 'done', stage: 'build' })
  })

  test('calls the phases in order, and only setup may write', async () => {
    const seen: [phase: string, ctx: StageContext][] = []
    const hear = (phase: string) => (ctx: StageContext) => {
      seen.push([phase, ctx])
      expect([Object.isFrozen(ctx), Object.isFrozen(ctx.data)]).toEqual([true, !phase.startsWith('setup')])
      return undefined
    }
    const plan = stage('plan', {
      setup(ctx) {
        hear('setup')(ctx)
        ctx.data.files = ['a']
      },
      ...{ checkGate: hear('checkGate'), assert: hear('assert'), exit: hear('exit') },
      next(ctx) {
        hear('next')(ctx)
        return 'build'
      },
    })
    const build = stage('build', { setup: hear('setup of build') })
    const machine = createStateMachine({ start: 'plan', stages: [plan, build] })
    const { run } = agentWith(machine, [[call('1', 'finish_plan', { note: 'n' })], [call('2', 'finish_build')]])
    await run()
    expect(seen.map(([phase]) => phase)).toEqual(['setup', 'checkGate', 'assert', 'exit', 'next', 'setup of build'])
    const [, left] = seen[4]!
    const [, entered] = seen[5]!
    expect(left).toMatchObject({
      ...{ stage: 'plan', attempt: 1, turns: 1, capHit: false },
      ...{ completion: { note: 'n' }, data: { files: ['a'] } },
    })
    expect(entered.completions).toEqual({ plan: { note: 'n' } })
    expect(entered.stageExecutionId).not.toBe(left.stageExecutionId)
  })

  test('the turn cap ends a stage normally, and the next one knows', async () => {
    let last: StageContext | undefined
    const machine = createStateMachine({
      start: 'plan',
      stages: [stage('plan', { turnCap: 2, next: (ctx) => void (last = ctx) })],
    })
    const { provider, run } = agentWith(machine, [[call('1', 'look')], [call('2', 'look')], 'never'])
    expect(await run()).toMatchObject({ status: 'completed' })
    expect(last).toMatchObject({ capHit: true, turns: 2 })
    expect(last).not.toHaveProperty('completion')
    expect(provider.requests).toHaveLength(2)
  })

  test('a model that stops too early is prompted to go on, until the turn cap', async () => {
    const machine = createStateMachine({ start: 'plan', stages: [stage('plan', { turnCap: 2 })] })
    const { provider, run } = agentWith(machine, ['I am done.', 'Really.', 'never'])
    await run()
    expect(provider.requests).toHaveLength(2)
    expect(JSON.stringify(provider.requests[1]!.messages.at(-1))).toContain('call finish_plan when it is')
  })

  test('the prompt stays the same for as long as the stage does', async () => {
    const breaks: string[] = []
    const machine = createStateMachine({ start: 'a', stages: [stage('a', { next: () => 'b' }), stage('b')] })
    const { agent, run } = agentWith(machine, [[call('1', 'look')], [call('2', 'finish_a')], [call('3', 'finish_b')]])
    agent.hooks.hook('cache:break', ({ turn, segment }) => void breaks.push(`${turn} ${segment}`))
    await run()
    expect(breaks).toEqual(['3 tools'])
  })

  test('a second completion in the same turn changes nothing', async () => {
    let completion: unknown
    const machine = createStateMachine({
      start: 'a',
      stages: [stage('a', { next: (ctx) => void (completion = ctx.completion) })],
    })
    const { run } = agentWith(machine, [[call('1', 'finish_a', { note: 'x' }), call('2', 'finish_a', { note: 'y' })]])
    await run()
    expect(completion).toEqual({ note: 'x' })
  })
})

describe('what goes wrong', () => {
  test.for<[why: string, more: Partial<Stage>]>([
    ['Session/StageGateRefused: the stage "a" must not begin: no budget', { checkGate: () => 'no budget' }],
    ['Session/StageAssertionFailed: the stage "a" ended badly: no tests', { assert: () => 'no tests' }],
    ['Validation/UnknownStage: next of "a" gave "z"; the stages are a', { next: () => 'z' }],
    ['Validation/StageDataInvalid: setup of the stage "a"', { setup: ({ data }) => void (data.f = () => {}) }],
    ['Validation/InvalidStages: the completion tool "look" of the stage "a"', { completionTool: 'look' }],
    ['broken', { exit: () => Promise.reject(new Error('broken')) }],
  ])('ends the run: %s', async ([why, more]) => {
    const machine = createStateMachine({ start: 'a', stages: [stage('a', more)] })
    const { run } = agentWith(machine, [[call('1', 'finish_a')], 'never'])
    await expect(run()).rejects.toThrow(why)
    expect(machine.status).not.toBe('running')
  })

  test('a machine serves one run at a time', async () => {
    const machine = createStateMachine({ start: 'a', stages: [stage('a')] })
    const other = agentWith(machine, ['never'])
    const look = tool('look', async () => {
      await expect(other.run()).rejects.toThrow('Validation/StateMachineAttached')
      return 'seen'
    })
    const { agent, run } = agentWith(machine, [[call('1', 'look')], [call('2', 'finish_a')]], { look })
    await run()
    expect(JSON.stringify(agent.turns)).toContain('seen')
  })

  test('a grant that comes after its stage has ended does not count', async () => {
    let grant = (): void => {}
    const waiting = new Promise<'approve'>((resolve) => {
      grant = () => resolve('approve')
    })
    const stages = [stage('a', { grantStageTool: () => waiting, next: () => 'b' }), stage('b')]
    const machine = createStateMachine({ start: 'a', stages })
    let late: Promise<unknown> | undefined
    const look = tool('look', () => void (late = machine.judge({ tool: 'x', proposalId: '9', input: {} })))
    const { agent, run } = agentWith(machine, [[call('1', 'look'), call('2', 'finish_a')], [call('3', 'finish_b')]], {
      look,
    })
    agent.hooks.hook('turn:before', ({ turn }) => void (turn === 2 && grant()))
    await run()
    expect(await late).toMatchObject({ verdict: 'deny' })
  })

  test('children do not advance it', async () => {
    const machine = createStateMachine({ start: 'a', stages: [stage('a')] })
    const script = [[call('1', 'spawn', { task: 'look' })], 'child done', [call('2', 'finish_a')]]
    const { provider, run } = agentWith(machine, script, { spawn: createSpawnTool() })
    await run()
    expect(provider.requests[1]!.tools.map(({ name }) => name)).not.toContain('finish_a')
    expect(provider.requests).toHaveLength(3)
    expect(machine.status).toBe('done')
  })

  test('outside its stages a machine denies', async () => {
    const machine = createStateMachine({ start: 'a', stages: [stage('a', { allowedTools: ['look'] })] })
    const proposal = { tool: 'look', proposalId: '1', input: {} }
    expect(await machine.judge(proposal)).toMatchObject({ verdict: 'deny', code: 'StageNotRunning' })
    await agentWith(machine, [[call('1', 'finish_a')]]).run()
    expect(await machine.judge(proposal)).toMatchObject({ verdict: 'deny', code: 'StageNotRunning' })
  })
})

describe('a resumed session', () => {
  test('resumes in the same stage, with its turns, its data and its used grants', async () => {
    const store = createMemoryStore()
    let isOpen = false
    let last: StageContext | undefined
    const make = () => {
      const grantStageTool = () => 'approve' as const
      const next = (ctx: StageContext) => void (last = ctx)
      const build = stage('build', { setup: ({ data }) => void (data.x = 1), turnCap: 3, grantStageTool, next })
      return createStateMachine({ start: 'plan', stages: [stage('plan', { next: () => 'build' }), build] })
    }
    const ask = tool('ask', (_, ctx) => (isOpen ? 'yes' : ctx.suspend('question')))
    const first = make()
    const session = await createSession({ store, id: 's' })
    const before = agentWith(first, [[call('1', 'finish_plan')], [call('2', 'ask')]], { ask }, session)
    before.agent.hooks.hook('tool:before', async ({ name }) => {
      if (name === 'ask') await first.judge({ tool: 'ask', proposalId: '2', input: {} })
    })
    expect(await before.run()).toMatchObject({ status: 'suspended' })
    const { stageExecutionId } = first

    isOpen = true
    const second = make()
    const after = agentWith(second, [[call('3', 'look')], 'too early'], { ask }, await loadSession(store, 's'))
    const verdicts: unknown[] = []
    after.agent.hooks.hook('tool:before', async ({ name }) => {
      if (name !== 'ask') return
      // Decided anew, because the call is; but not twice.
      for (let i = 0; i < 2; i++) verdicts.push(await second.judge({ tool: 'ask', proposalId: '2', input: {} }))
    })
    expect(await after.agent.run()).toMatchObject({ status: 'completed' })
    expect(after.provider.requests[0]!.system).toBe('You are in build.')
    expect(last).toMatchObject({ stageExecutionId, attempt: 2, turns: 3, capHit: true, data: { x: 1 } })
    expect(verdicts).toMatchObject([{ verdict: 'token' }, { code: 'GrantTokenAlreadyConsumed' }])
  })

  test('that was complete when it was stopped goes on with the next stage', async () => {
    const stages = [stage('plan', { next: () => 'build' }), stage('build')]
    const machine = createStateMachine({ start: 'plan', stages })
    const { agent, provider, run } = agentWith(machine, [[call('1', 'finish_plan')], [call('2', 'finish_build')]])
    const off = agent.hooks.hook('tool-results:after', () => agent.abort())
    await expect(run()).rejects.toThrow('aborted')
    off()
    await agent.run()
    expect(provider.requests.map(({ system }) => system)).toEqual(['You are in plan.', 'You are in build.'])
    expect(machine.status).toBe('done')
  })

  test('counts the turns of the model, not how often it is resumed', async () => {
    let last: StageContext | undefined
    const machine = createStateMachine({ start: 'a', stages: [stage('a', { next: (ctx) => void (last = ctx) })] })
    const { agent, run } = agentWith(machine, ['I think.', [call('1', 'finish_a')]])
    const off = agent.hooks.hook('turn:after', () => agent.abort())
    await expect(run()).rejects.toThrow('aborted')
    off()
    await agent.run()
    expect(last).toMatchObject({ attempt: 2, turns: 1 })
  })

  test('is not resumed by another machine', async () => {
    const store = createMemoryStore()
    const ask = tool('ask', (_, ctx) => ctx.suspend('question'))
    const session = await createSession({ store, id: 's' })
    const one = createStateMachine({ id: 'one', start: 'a', stages: [stage('a')] })
    await agentWith(one, [[call('1', 'ask')]], { ask }, session).run()
    const two = createStateMachine({ id: 'two', start: 'a', stages: [stage('a')] })
    const { agent } = agentWith(two, ['never'], { ask }, await loadSession(store, 's'))
    await expect(agent.run()).rejects.toThrow('Session/ResumeMismatch: the session stands in the stage "a" of "one"')
  })

  test('that is finished starts again with the next prompt', async () => {
    const machine = createStateMachine({ start: 'a', stages: [stage('a')] })
    const { provider, run } = agentWith(machine, [[call('1', 'finish_a')], [call('2', 'finish_a')]])
    await run()
    const { stageExecutionId } = machine
    await run()
    expect(provider.requests).toHaveLength(2)
    expect(machine.status).toBe('done')
    expect(machine.stageExecutionId).not.toBe(stageExecutionId)
  })
})

test('transitions are recorded before they happen', async () => {
  const records: string[] = []
  const audit = {
    write: ({ class: kind, event, details }: AuditRecord) =>
      void records.push([kind, event, details?.stage, details?.to].filter((one) => one !== undefined).join(' ')),
  }
  const stages = [stage('a', { next: () => 'b', exit: () => void records.push('exit') }), stage('b')]
  const provider = scripted([call('1', 'finish_a')], [call('2', 'finish_b')])
  const extensions = [createStateMachine({ start: 'a', stages }).extension(audit)]
  await createAgent({ provider, extensions }).run({ prompt: 'go' })
  expect(records).toEqual([
    'StageExecution StageStarted a',
    'exit',
    'StageExecution StageEnded a',
    'SMTransition SMTransition a b',
    'StageExecution StageStarted b',
    'StageExecution StageEnded b',
    'SMTransition SMTransition b ',
  ])
})

function agentWith(
  machine: StateMachine,
  script: readonly Step[],
  tools: Readonly<Record<string, ToolDef>> = {},
  session?: Awaited<ReturnType<typeof createSession>>,
) {
  const provider = scripted(...script)
  const agent = createAgent({
    provider,
    tools: { look: tool('look', () => 'nothing'), ...tools },
    extensions: [machine.extension()],
    ...(session && { session }),
  })
  return { agent, provider, run: () => agent.run({ prompt: 'go' }) }
}
