import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createProcessContext } from '../../src/index.ts'
import { coding } from '../../src/presets/index.ts'
import { call } from '../../src/testing/index.ts'
import { temporary } from '../temporary.ts'
import { guarded } from './authority-kit.ts'

test('B053 values of the environment and of settings appear in no request, and in no prompt', async () => {
  const planted = {
    env: 'plantedEnv48151',
    rule: 'plantedRule62342',
    home: 'plantedHome10815',
    layer: 'plantedLayer77',
  }
  process.env.PLANTED_TOKEN = planted.env
  try {
    const root = await temporary('secrets-')
    const home = await mkdtemp(join(tmpdir(), `${planted.home}-`))
    await writeFile(join(root, 'a.txt'), 'alpha')
    const calls = [
      call('1', 'shell', { command: 'env' }),
      call('2', 'shell', { command: 'node -p process.env > env.txt' }),
      call('3', 'read_file', { path: 'a.txt' }),
      call('4', 'write_file', { path: 'b.txt', content: 'x' }),
      call('5', 'nowhere', {}),
    ]
    const { agent, provider, prompts } = guarded(
      [calls, 'Done.'],
      {
        mode: 'ask',
        home,
        deny: [`shell:${planted.rule}`],
        layers: { global: { ask: [{ rule: `net:${planted.layer}`, why: planted.layer }] } },
      },
      { tools: coding.tools!, execution: createProcessContext({ cwd: root }) },
    )
    await agent.run({ prompt: 'Look around.' })
    expect(provider.requests).toHaveLength(2)
    expect(prompts.length).toBeGreaterThan(1)
    const sent = JSON.stringify([provider.requests, prompts.map(({ payload }) => payload)])
    for (const value of Object.values(planted)) expect(sent).not.toContain(value)
  } finally {
    delete process.env.PLANTED_TOKEN
  }
})
