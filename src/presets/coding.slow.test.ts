import { expect, test } from 'vitest'
import { createAgent } from '../create-agent.ts'
import { call, memoryExecution, scripted, texts, tool } from '../testing/index.ts'
import { BUILD_AGENT, build, coding, composePresets, PLAN_AGENT, plan } from './index.ts'

const namesOf = (tools: object): string[] => Object.values(tools).map(({ spec }) => spec.name)

test('build is all of coding, and asks', () => {
  expect(namesOf(build.tools)).toEqual(namesOf(coding.tools))
  expect(build.authority).toEqual({ mode: 'ask' })
})

test('M13 both come to an end by themselves, keep the conversation short and think less later on', async () => {
  expect([BUILD_AGENT, PLAN_AGENT]).toEqual([build, plan])
  const thinkingDecay = { afterTurn: 5, factor: 0.5, floor: 1024 }
  for (const { behavior } of [build, plan])
    expect(behavior).toEqual({ maxTurns: 100, compactStrategy: 'summary', thinkingDecay })
  const provider = scripted(...Array.from({ length: 101 }, (_, i) => [call(`${i}`, 'todoread')]))
  expect(await createAgent({ ...BUILD_AGENT, provider }).run({ prompt: 'Go on for ever.' })).toMatchObject({
    turns: 100,
  })
})

test('plan has no tool that writes, edits or starts sub-agents, and keeps all that look', () => {
  const left = namesOf(coding.tools).filter((name) => !['write_file', 'edit', 'multi_edit', 'spawn'].includes(name))
  expect(namesOf(plan.tools)).toEqual(left)
  expect(left).toContain('shell')
})

test('plan runs what only looks and refuses the rest, whatever a rule allows and whichever tools are added', async () => {
  const changed: string[] = []
  const deface = tool('deface', () => void changed.push('deface'), { effects: ['fs.write'] })
  const provider = scripted(
    [
      call('1', 'shell', { command: 'ls' }),
      call('2', 'shell', { command: 'rm x' }),
      call('3', 'deface'),
      call('4', 'write_file', { path: 'x', content: '' }),
    ],
    'The plan.',
  )
  const execution = memoryExecution({ exec: (command) => ({ stdout: `ran ${command}` }) })
  const preset = composePresets(plan, { tools: { deface }, authority: { mode: 'plan', allow: ['deface', 'shell'] } })
  const agent = createAgent({ ...preset, provider, execution })
  await agent.run({ prompt: 'How would you?' })
  const [looked, removed, defaced, wrote] = texts(agent.turns)[2]!.split('←').slice(1)
  expect(looked).toContain('ran ls')
  expect(removed).toContain('plan')
  expect(removed).not.toContain('ran rm')
  expect(defaced).toContain('plan')
  expect(wrote).toContain('write_file')
  expect(changed).toEqual([])
  await agent.destroy()
})
