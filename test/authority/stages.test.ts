import { describe, expect, test } from 'vitest'
import type { AuthorityOptions } from '../../src/authority/authority.ts'
import type { Stage } from '../../src/authority/stages/stages.ts'
import { createStateMachine, type StateMachine } from '../../src/authority/stages/state-machine.ts'
import type { Decision } from '../../src/core/authority.ts'
import type { HookContexts } from '../../src/core/hook-map.ts'
import { createAgent, createSpawnTool } from '../../src/index.ts'
import { call, type Step, scripted, tool } from '../../src/testing/index.ts'

describe('a state machine in an authority', () => {
  test.for(['ask', 'allowlist', 'yolo'] as const)(
    'B026 a tool of the stage needs no prompt in the mode %s',
    async (mode) => {
      const script = [[call('1', 'write')], [call('2', 'finish')]]
      const { decisions, ran, prompts } = await go(script, { mode, stage: { allowedTools: ['write'] } })
      expect(decisions.map(({ verdict, by }) => `${verdict} ${by}`)).toEqual(Array(2).fill('allow sm-envelope'))
      expect([ran, prompts]).toEqual([['write'], []])
    },
  )

  test('B027 a grant of the stage counts for one call: reuse is denied, and an equal call is judged again', async () => {
    const asked: string[] = []
    const again: unknown[] = []
    const grantStageTool: Stage['grantStageTool'] = ({ proposalId }) => {
      asked.push(proposalId)
      return 'approve'
    }
    const { decisions, ran, prompts } = await go(
      [[call('1', 'write', { path: 'a' })], [call('2', 'write', { path: 'a' })]],
      { mode: 'ask', stage: { grantStageTool } },
      async (machine, { name: tool, callId: proposalId, input }) =>
        void again.push(await machine.judge({ tool, proposalId, input })),
    )
    expect(decisions.map(({ verdict, by }) => `${verdict} ${by}`)).toEqual(Array(2).fill('allow sm-grant-token'))
    expect(again).toMatchObject(Array(2).fill({ verdict: 'deny', code: 'GrantTokenAlreadyConsumed' }))
    expect([ran, asked, prompts]).toEqual([['write', 'write'], ['1', '2'], []])
  })

  test('B028 a call that the stage refuses is denied in yolo too, whatever rules allow', async () => {
    const { decisions, ran } = await go([[call('1', 'write')]], { mode: 'yolo', allow: ['write'], stage: {} })
    expect(decisions[0]).toMatchObject({ verdict: 'deny', code: 'StageToolDenied' })
    expect(ran).toEqual([])
  })

  test('a deny rule wins over the stage', async () => {
    const stage = { allowedTools: ['write'] }
    const { decisions, ran } = await go([[call('1', 'write')]], { mode: 'yolo', deny: ['write'], stage })
    expect(decisions[0]).toMatchObject({ verdict: 'deny', by: 'deny-rule' })
    expect(ran).toEqual([])
  })

  test.for([true, false])('what the stage defers is for a person to decide: %s', async (value) => {
    const stage: Partial<Stage> = { grantStageTool: () => 'defer' }
    const { ran, prompts } = await go([[call('1', 'write')]], { mode: 'yolo', stage, answer: value })
    expect(prompts).toMatchObject([{ kind: 'grantStageTool', payload: { toolId: 'write' } }])
    expect(ran).toEqual(value ? ['write'] : [])
  })

  test('a stage applies to children, and they cannot end it', async () => {
    const { decisions, ran, provider, stateMachine } = await go(
      [[call('1', 'spawn', { task: 'do' })], [call('2', 'write'), call('3', 'finish')], 'child done'],
      { mode: 'yolo', stage: { allowedTools: ['spawn'], turnCap: 1 } },
    )
    expect(decisions.map(({ verdict }) => verdict)).toEqual(['allow'])
    expect(ran).toEqual([])
    expect(provider.requests[1]!.tools.map(({ name }) => name)).not.toContain('finish')
    expect(JSON.stringify(provider.requests[2]!.messages)).toContain('ToolTerminal/StageToolDenied')
    expect(stateMachine.status).toBe('done')
  })
})

interface Setting extends AuthorityOptions {
  readonly stage: Partial<Stage>
  readonly answer?: boolean
}

/** Plays a script in a machine of one stage, and tells what was decided, run and asked. */
async function go(
  script: readonly Step[],
  { stage, answer = false, ...options }: Setting,
  before?: (machine: StateMachine, ctx: HookContexts['tool:before']) => Promise<void>,
) {
  const stateMachine = createStateMachine({
    start: 'only',
    stages: [
      {
        ...{ id: 'only', body: 'Do it.', turnCap: script.length, completionTool: 'finish' },
        completionSchema: { type: 'object' },
        next: () => undefined,
        ...stage,
      },
    ],
  })
  const decisions: Decision[] = []
  const ran: string[] = []
  const prompts: unknown[] = []
  const provider = scripted(...script)
  const agent = createAgent({
    provider,
    tools: { write: tool('write', () => void ran.push('write')), spawn: createSpawnTool() },
    authority: {
      ...options,
      stateMachine,
      interactors: [
        (request) => {
          prompts.push(request)
          return { status: 'accepted', value: answer }
        },
      ],
    },
  })
  agent.hooks.hook('tool:decision', ({ decision }) => void decisions.push(decision))
  if (before) agent.hooks.hook('tool:before', (ctx) => before(stateMachine, ctx))
  await agent.run({ prompt: 'go' })
  await agent.destroy()
  return { decisions, ran, prompts, provider, stateMachine }
}
