import { execFile } from 'node:child_process'
import { copyFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { toolFile, world } from './tool-layers-kit.ts'

const source = (path: string): string => JSON.stringify(new URL(`../../src/${path}`, import.meta.url).href)

/** A program that uses the tools of a home: outside of the test runner, modules are loaded by Node itself. */
const program = (home: string, calls: string): string => `
  import { rename } from 'node:fs/promises'
  import { createAgent } from ${source('create-agent.ts')}
  import { layeredTools } from ${source('layers/index.ts')}
  import { call, scripted } from ${source('testing/scripted.ts')}
  const home = ${JSON.stringify(home)}
  const layers = layeredTools({ home, projectRoot: home })
  async function use(name, input = {}) {
    const agent = createAgent({ provider: scripted([call('1', name, input)], 'done'), extensions: [layers] })
    await agent.run({ prompt: 'go' })
    console.log(agent.turns.flatMap(({ content }) => content).find(({ type }) => type === 'tool_result').output)
  }
  ${calls}
  console.log(JSON.stringify(layers.diagnostics))
`

async function run(path: string): Promise<string[]> {
  const { stdout, stderr } = await promisify(execFile)(process.execPath, ['--conditions=libero-source', path])
  expect(stderr).toBe('')
  return stdout.trim().split('\n')
}

test('Node loads tools in TypeScript, and a reload sees what changed in a neighbour', async () => {
  const at = await world()
  const speak = toolFile('speak', { execute: 'async () => ({ ok: true, value: words as string })' })
  await at.write(
    'home/tools/speak/tool.json',
    JSON.stringify({
      id: 'speak',
      category: 'Tool',
      contractVersion: '1.0.0',
      requiredCoreVersion: '*',
      main: 'src/main.ts',
    }),
  )
  await at.write('home/tools/speak/src/main.ts', `import { words } from '../words.ts'\n${speak}`)
  await at.write(
    'home/tools/speak/words.ts',
    `import { more } from './more.ts'\nexport const words: string = 'old ' + more`,
  )
  await at.write('home/tools/speak/more.ts', `export const more: string = 'words'`)
  await at.write('home/later.ts', `export const more: string = 'hat'`)
  const examples = fileURLToPath(new URL('../../examples/tools', import.meta.url))
  for (const name of ['remember.ts', 'celsius.ts']) await copyFile(join(examples, name), join(at.home, 'tools', name))
  const file = await at.write(
    'program.mjs',
    program(
      at.home,
      `
    await use('speak')
    await rename(home + '/later.ts', home + '/tools/speak/more.ts')
    console.log(await layers.reload('speak'))
    await use('speak')
    await use('remember', { note: 'milk' })
    await use('celsius', { fahrenheit: 212 })
  `,
    ),
  )
  expect(await run(file)).toEqual(['old words', 'reloaded-in-turn', 'old hat', '1. milk', '{"celsius":100}', '[]'])
})

test('a tool made by the AI SDK itself runs as it is', async () => {
  const at = await world()
  const sdk = createRequire(import.meta.resolve('@ai-sdk/openai')).resolve('@ai-sdk/provider-utils')
  await at.write(
    'home/tools/double.mjs',
    `
    import { jsonSchema, tool } from ${JSON.stringify(pathToFileURL(sdk).href)}
    export default tool({
      description: 'Doubles.',
      inputSchema: jsonSchema({ type: 'object', properties: { n: { type: 'number' } }, required: ['n'] }),
      execute: async ({ n }) => ({ twice: n * 2 }),
    })`,
  )
  const file = await at.write('program.mjs', program(at.home, `await use('double', { n: 21 })`))
  expect(await run(file)).toEqual(['{"twice":42}', '[]'])
})
