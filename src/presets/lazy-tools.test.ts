import { expect, test } from 'vitest'
import { factsOf } from '../../scripts/lazy-tools.ts'
import {
  createAgent,
  createSpawnTool,
  definePreset,
  type Extension,
  glob,
  grep,
  basicTools as lateBasicTools,
  type ToolDef,
} from '../index.ts'
import { layeredTools } from '../layers/index.ts'
import { call, memoryExecution, scripted } from '../testing/index.ts'
import { basicTools } from './basic.ts'
import { lazyToolFacts } from './lazy-tool-facts.ts'

test('M06 what the tools of the root say of themselves is what the whole tools say', () => {
  // If not: npx node --conditions=libero-source scripts/lazy-tools.ts && npm run format
  expect(lazyToolFacts).toEqual(JSON.parse(factsOf()))
  expect(Object.keys(lateBasicTools)).toEqual(Object.keys(basicTools))
})

test('M06 basicTools, glob and grep of the root work in an agent, in a run and in its children, under an authority', async () => {
  const preset = definePreset({
    name: 'orchestrator',
    tools: { ...lateBasicTools, spawn: createSpawnTool(), glob, grep },
  })
  const execution = memoryExecution({ files: { 'a.txt': 'apples' } })
  const provider = scripted(
    [call('1', 'edit', { path: 'a.txt', old_string: 'apples', new_string: 'pears' })],
    [call('2', 'spawn', { task: 'search' })],
    [call('3', 'grep', { pattern: 'pears' })],
    'found',
    [call('4', 'write_file', { path: 'secret.txt', content: 'x' })],
    'done',
  )
  const agent = createAgent({
    ...preset,
    provider,
    execution,
    authority: { mode: 'ask', allow: ['edit', 'spawn'], deny: ['fs.write:secret.txt'] },
  })
  await agent.run({ prompt: 'Go.' })
  const names = Object.values(preset.tools).map(({ spec }: ToolDef) => spec.name)
  expect(provider.requests[0]!.tools.map(({ name }) => name)).toEqual(names)
  const results = agent.turns.flatMap(({ content }) => content.filter((block) => block.type === 'tool_result'))
  expect(results.map(({ output }) => String(output).split('\n')[0])).toEqual([
    'Edited a.txt (1 replacement, line 1)',
    expect.stringContaining('found'),
    expect.stringMatching(/^Blocked: .*denied/),
  ])
  await agent.destroy()
})

test('M06 they are judged like the whole tools, also where an extension or a layer brings them', async () => {
  const adding: Extension = { name: 'adding', start: ({ tools }) => tools.add(lateBasicTools.writeFile) }
  for (const extension of [adding, layeredTools({ bundled: { write: lateBasicTools.writeFile }, home: '/nowhere' })]) {
    const agent = createAgent({
      provider: scripted([call('1', 'write_file', { path: '.git/hooks/post-commit', content: 'x' })]),
      execution: memoryExecution(),
      authority: { mode: 'yolo' },
      extensions: [extension],
    })
    const decided: string[] = []
    agent.hooks.hook('tool:decision', ({ decision }) => void decided.push(`${decision.verdict} by ${decision.by}`))
    await agent.run({ prompt: 'Go.' })
    expect(decided).toEqual(['ask by floor'])
    await agent.destroy()
  }
})
