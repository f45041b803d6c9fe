import { describe, expect, test } from 'vitest'
import type { Stage, StageProposal } from './stages.ts'
import { grantFor, type Tokens } from './state-machine.ts'

const proposal: StageProposal = {
  stageExecutionId: 'e1',
  attempt: 1,
  proposalId: 'c1',
  tool: 'write',
  argsDigest: 'd1',
}

describe('a grant of a stage', () => {
  test('counts for its call, once', async () => {
    const tokens = inMemory()
    const stage = granting(() => 'approve')
    expect(await grantFor(stage, proposal, tokens)).toEqual({ verdict: 'token' })
    expect(await grantFor(stage, { ...proposal }, tokens)).toMatchObject({
      verdict: 'deny',
      code: 'GrantTokenAlreadyConsumed',
    })
  })

  test.for<Partial<StageProposal>>([
    { stageExecutionId: 'e2' },
    { attempt: 2 },
    { proposalId: 'c2' },
    { tool: 'edit' },
    { argsDigest: 'd2' },
  ])('is bound to all it was asked about: %j is another one', async (change) => {
    const tokens = inMemory()
    const asked: StageProposal[] = []
    const stage = granting((one) => {
      asked.push(one)
      return 'approve'
    })
    await grantFor(stage, proposal, tokens)
    expect(await grantFor(stage, { ...proposal, ...change }, tokens)).toEqual({ verdict: 'token' })
    expect(asked).toEqual([proposal, { ...proposal, ...change }])
  })

  test('counts for only one of two concurrent calls', async () => {
    const tokens = inMemory()
    const stage = granting(async () => 'approve' as const)
    const both = await Promise.all([grantFor(stage, proposal, tokens), grantFor(stage, proposal, tokens)])
    expect(both.map(({ verdict }) => verdict).sort()).toEqual(['deny', 'token'])
  })

  test('is deferred to a person, refused, or refused if the stage fails or returns nothing', async () => {
    const verdictOf = (grant: Stage['grantStageTool']) => grantFor(granting(grant), proposal, inMemory())
    expect(await verdictOf(() => 'defer')).toEqual({ verdict: 'defer' })
    const denied = {
      verdict: 'deny',
      code: 'StageToolDenied',
      why: '"write" is not for the stage "plan", which has read, done',
    }
    expect(await verdictOf(() => 'deny')).toEqual(denied)
    expect(await verdictOf(undefined)).toEqual(denied)
    expect(await verdictOf(() => true as never)).toEqual(denied)
    const failing = () => {
      throw new Error('no idea')
    }
    expect(await verdictOf(failing)).toMatchObject({
      code: 'StageGrantFailed',
      why: expect.stringContaining('no idea'),
    })
  })
})

function granting(grantStageTool: Stage['grantStageTool']): Stage {
  return {
    ...{ id: 'plan', body: '', allowedTools: ['read'], turnCap: 1, completionTool: 'done', completionSchema: {} },
    ...(grantStageTool && { grantStageTool }),
    next: () => undefined,
  }
}

function inMemory(): Tokens {
  const used = new Set<string>()
  return { has: (token) => used.has(token), consume: async (token) => void used.add(token) }
}
