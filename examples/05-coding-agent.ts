// An agent that works on files: the `coding` preset, in a folder of its own. The script plays a model that fixes a bug.
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createAgent, createProcessContext } from 'libero'
import { coding } from 'libero/presets'
import { call, scripted } from 'libero/testing'

const cwd = await mkdtemp(join(tmpdir(), 'libero-example-'))
await writeFile(join(cwd, 'greet.sh'), 'echo "Helo, $1!"\n')
await writeFile(join(cwd, 'test.sh'), 'said=$(sh greet.sh Ada)\necho "$said"\ntest "$said" = "Hello, Ada!"\n')

const provider = scripted(
  { text: 'I run the test first.', calls: [call('1', 'shell', { command: 'sh test.sh' })] },
  { text: 'Where does that come from?', calls: [call('2', 'grep', { pattern: 'Helo', output_mode: 'content' })] },
  {
    text: 'There is the typo.',
    calls: [call('3', 'edit', { path: 'greet.sh', old_string: 'Helo', new_string: 'Hello' })],
  },
  { text: 'Once more.', calls: [call('4', 'shell', { command: 'sh test.sh' })] },
  'Fixed: the greeting was misspelt.\n',
)

// The file tools reach this folder and nothing else. Commands are not held by that: docs/execution.md says by what.
const agent = createAgent({ ...coding, provider, execution: createProcessContext({ cwd }) })
agent.hooks.hook('stream:text', ({ delta }) => void process.stdout.write(delta))
agent.hooks.hook('tool:before', ({ name, input }) => console.log(`\n→ ${name} ${JSON.stringify(input)}`))
agent.hooks.hook('tool:after', ({ result }) => console.log(String(result).replace(/^/gm, '  ')))

await agent.run({ prompt: 'The test fails. Fix it.' })
console.log(await readFile(join(cwd, 'greet.sh'), 'utf8'))
await agent.destroy()
await rm(cwd, { recursive: true })
