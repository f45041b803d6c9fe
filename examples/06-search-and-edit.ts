// File tools that look out for each other: a file must be read before it is edited, and edits are made all or not at all.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createAgent, createProcessContext } from 'libero'
import { call, scripted, texts } from 'libero/testing'
import { glob, grep, multiEdit, readFile } from 'libero/tools'

const cwd = await mkdtemp(join(tmpdir(), 'libero-example-'))
await writeFile(join(cwd, 'paint.ts'), 'export const color = "red"\nexport const colors = [color]\n')
await writeFile(join(cwd, 'notes.md'), 'Which color?\n')

const path = 'paint.ts'
const first = { old_string: 'color = ', new_string: 'colour = ' }
const wrong = { old_string: 'const colors = [ color ]', new_string: 'const colours = [colour]' }
const right = { ...wrong, old_string: 'const colors = [color]' }

const provider = scripted(
  [call('1', 'glob', { pattern: '**/*.ts' }), call('2', 'grep', { pattern: '\\bcolors?\\b', output_mode: 'count' })],
  [call('3', 'multi_edit', { path, edits: [first, right] })], // refused: not read yet
  [call('4', 'read_file', { path })],
  [call('5', 'multi_edit', { path, edits: [first, wrong] })], // refused, and shows why
  [call('6', 'multi_edit', { path, edits: [first, right] })],
  [call('7', 'read_file', { path: '../secrets.txt' })], // refused: outside
  'Done.',
)

const agent = createAgent({
  provider,
  tools: { glob, grep, multiEdit, readFile },
  execution: createProcessContext({ cwd }),
  behavior: { requireReadBeforeEdit: true },
})
await agent.run({ prompt: 'We spell it "colour".' })
for (const line of texts(agent.turns)) if (line.startsWith('user: ')) console.log(line.replace('user: ', ''))
await agent.destroy()
await rm(cwd, { recursive: true })
