// A skill: instructions that the model gets when it asks for them, with a command in them and a script beside them.
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createAgent, createProcessContext } from 'libero'
import { coding } from 'libero/presets'
import { call, scripted } from 'libero/testing'

const cwd = await mkdtemp(join(tmpdir(), 'libero-example-'))
const folder = join(cwd, '.agents/skills/stocktaking')
await mkdir(join(folder, 'scripts'), { recursive: true })
const skill = `---
name: stocktaking
description: Counts what is in stock. Use it when the user asks how much there is.
allowed-tools: Read
---
What there is: !\`cat stock.txt\`
To count, run scripts/count.sh with the name of $ARGUMENTS.`
await writeFile(join(folder, 'SKILL.md'), skill)
await writeFile(join(folder, 'scripts/count.sh'), 'grep -c "$1" stock.txt\n')
await writeFile(join(cwd, 'stock.txt'), 'apple\npear\napple\n')

const provider = scripted(
  [call('1', 'skills_use', { name: 'stocktaking', arguments: 'the fruit' })],
  [call('2', 'skills_run_script', { name: 'stocktaking', script: 'scripts/count.sh', args: ['apple'] })],
  [call('3', 'write_file', { path: 'stock.txt', content: '' })], // the skill allows reading only
  'There are two apples.',
)
const execution = createProcessContext({ cwd })
const agent = createAgent({ ...coding, provider, execution, skills: { cwd, home: join(cwd, 'home') } })
agent.hooks.hook('skills:resolve', ({ skills }) => console.log(`found: ${skills.map(({ name }) => name).join(', ')}`))
agent.hooks.hook('skills:activate', ({ skill, via }) => console.log(`${skill.name} is active, by the ${via}`))
await agent.run({ prompt: 'How many apples are there?' })
for (const { content } of agent.turns)
  for (const block of content) if (block.type === 'tool_result') console.log(`← ${String(block.output)}`)
await agent.destroy()
await rm(cwd, { recursive: true })
