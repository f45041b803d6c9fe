import { expect, test } from 'vitest'
import { createAgent } from '../../src/index.ts'
import { call, scripted, texts, tool } from '../../src/testing/index.ts'
import type { ToolContext } from '../../src/types.ts'

/** A call that reports in some way, and is aborted after that. */
async function aborted(report: (ctx: ToolContext) => void, replay: 'pure' | 'opaque' = 'opaque'): Promise<string> {
  const work = tool(
    'work',
    (_, ctx) => {
      report(ctx)
      setTimeout(() => agent.abort())
      return new Promise<string>(() => {})
    },
    { replay },
  )
  const agent = createAgent({ provider: scripted([call('1', 'work')]), tools: { work } })
  await agent.run({ prompt: 'go' }).catch(() => {})
  return texts(agent.turns).at(-1)!
}

test('R02 of a call that reported progress the model reads the last of it', async () => {
  const said = await aborted(({ progress }) => [1, 2, 3].forEach((n) => void progress(`step ${n}`)))
  expect(said).toMatch(/stopped while this call ran\..*check before repeating it\.\nOutput so far:\nstep 3$/)
})

test('R02 a tool may say what it has done so far, and what it says is bounded', async () => {
  const said = await aborted(({ ifInterrupted }) => ifInterrupted?.(() => `${'x'.repeat(100_000)}end`))
  expect(said).toMatch(/x{30000}end$/)
  expect(said.length).toBeLessThan(40_000)
})

test('R02 a tool that fails at saying so is stopped like any other', async () => {
  const said = await aborted(({ ifInterrupted }) =>
    ifInterrupted?.(() => {
      throw new Error('no')
    }),
  )
  expect(said).toMatch(/check before repeating it\.$/)
})

test('R02 a call that only looks has had no effect, and nothing is said of one', async () => {
  expect(await aborted(() => {}, 'pure')).toBe('user: ←Aborted: the run was stopped while this call ran.')
})
