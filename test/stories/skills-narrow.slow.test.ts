import { expect, test } from 'vitest'
import { call } from '../../src/testing/index.ts'
import { skill, world } from './skills-kit.ts'

const narrow = { 'home/.agents/skills/narrow/SKILL.md': skill('narrow', 'Now: !`echo ran`', 'allowed-tools: Read') }

test('the commands of a skill that a host made active run when the model uses it, however little it allows', async () => {
  const { open } = await world(narrow)
  const { agent, results } = open([
    [call('1', 'skills_use', { name: 'narrow' })],
    [call('2', 'skills_use', { name: 'narrow', arguments: 'again' })],
    [call('3', 'shell', { command: 'echo mine' })],
    'done',
  ])
  await agent.activateSkill('narrow')
  await agent.run({ prompt: 'go' })
  const [first, again, own] = results()
  expect(first).toContain('Now: ran')
  expect(again).toContain('Now: ran')
  expect(own).toMatch(/^Blocked: the active skill "narrow" allows only/)
  await agent.destroy()
})

test('a person is not asked about a call that an active skill refuses', async () => {
  const { open, root } = await world(narrow)
  const asked: unknown[] = []
  const { agent, results } = open(
    [[call('1', 'skills_use', { name: 'narrow' })], [call('2', 'shell', { command: 'touch made' })], 'done'],
    { authority: { mode: 'ask', home: root, interactors: [(prompt: unknown) => asked.push(prompt) > 0] } },
  )
  await agent.run({ prompt: 'go' })
  const before = asked.length // the command of the skill itself
  expect(before).toBeLessThanOrEqual(1)
  expect(results()[1]).toMatch(/^Blocked: the active skill "narrow" allows only/)
  expect(JSON.stringify(asked)).not.toContain('touch made')
  await agent.destroy()
})
