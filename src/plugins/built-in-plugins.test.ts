import { expect, test } from 'vitest'
import { systemClock } from '../core/clock.ts'
import { actionPlugins } from './built-in-plugins.ts'

const services = { agentId: 'a', clock: systemClock, childOf: () => ({}) }

test('each plugin offers one tool of its own name, with all required declarations', () => {
  const names = actionPlugins.map((plugin) => {
    const tools = plugin.tools!({ config: {}, entry: { id: '1', toolId: plugin.toolId }, services })
    expect(tools.map(({ spec }) => spec.name)).toEqual([plugin.toolId])
    for (const field of ['isConcurrencySafe', 'replay', 'effects', 'deriveApprovalKey', 'timeoutMs'])
      expect(tools[0], `${plugin.toolId} ${field}`).toHaveProperty(field)
    return plugin.toolId
  })
  expect(names).toEqual([
    'summary',
    'ask-question',
    'web-fetch',
    'zx-script',
    'spawn-agent',
    'manage-todo',
    'git-log',
    'git-read-file',
  ])
})

test('by default only scripts and sub-agents need an approval', () => {
  const asked = actionPlugins.flatMap(({ defaultApproval = {} }) => Object.entries(defaultApproval))
  expect(asked).toEqual([
    ['zx-script', { mode: 'confirm' }],
    ['spawn-agent', { mode: 'confirm' }],
  ])
})
