import { existsSync } from 'node:fs'
import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { describe, expect } from 'vitest'
import { createProcessContext } from '../../src/index.ts'
import { call } from '../../src/testing/index.ts'
import { shell } from '../../src/tools/index.ts'
import { testInTurns } from '../soak.ts'
import { temporary } from '../temporary.ts'
import { guarded } from './authority-kit.ts'

const test = testInTurns(2)

/** A project in which these files do no harm. */
async function project(files: Readonly<Record<string, string>>): Promise<string> {
  const root = await temporary('scripts-')
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(root, path)), { recursive: true })
    await writeFile(join(root, path), text)
    await chmod(join(root, path), 0o755)
  }
  return root
}

/** Runs a line about which a person is asked; `meanwhile` happens while the first prompt is open. */
async function approve(root: string, command: string, meanwhile: () => Promise<void>) {
  let asked = 0
  const { agent, prompts, results } = guarded(
    [[call('1', 'shell', { command })], 'Done.'],
    { mode: 'ask' },
    {
      tools: { shell },
      execution: createProcessContext({ cwd: root, sandbox: 'off' }),
      async answer() {
        if (asked++ > 0) return false
        await meanwhile()
        return 'once'
      },
    },
  )
  await agent.run({ prompt: 'Go.' })
  return { prompts: prompts.length, result: results()[0], agent }
}

describe('S10 the file that an approved command runs is part of what is approved', () => {
  const lines: [line: string, swapped: string, files?: Record<string, string>][] = [
    ['bash build.sh', 'build.sh'],
    ['bash -eu -o pipefail ./build.sh all', 'build.sh'],
    ['sh < build.sh', 'build.sh'],
    ['cat build.sh | sh', 'build.sh'],
    ['./run.sh', 'run.sh'],
    ['cd sub && ./run.sh', 'sub/run.sh'],
    ['source env.sh && true', 'env.sh'],
    ['. ./env.sh', 'env.sh'],
    ['env A=1 nice bash build.sh', 'build.sh'],
    ['python3 a.py', 'a.py'],
    ['python3 -m tool.run', 'tool/run.py'],
    ['python3 tool', 'tool/__main__.py'],
    ['node x.js', 'x.js'],
    ['node x', 'x.js'],
    ['node --import=./hook.mjs x.js', 'hook.mjs'],
    ['node -r ./hook.cjs x.js', 'hook.cjs'],
    ['perl -Ilib x.pl', 'x.pl'],
    ['make', 'Makefile'],
    ['make -f other.mk', 'other.mk'],
    ['make -C sub', 'sub/Makefile'],
    ['npm run build', 'package.json'],
    ['npm --prefix=sub run build', 'sub/package.json'],
    ['npx tool', 'node_modules/.bin/tool'],
    ['pytest', 'conftest.py'],
    ['pytest', 'pytest.ini'],
    ['pytest -q tests/unit/test_a.py::test_one', 'tests/conftest.py'],
    ['npx vitest run', 'vitest.config.ts'],
    ['cargo build', 'build.rs'],
    ['docker build .', 'Dockerfile'],
    ['mytool --config=my.toml', 'my.toml'],
    ['bash build.sh', 'lib.sh', { 'build.sh': '. ./lib.sh\n' }],
    ['bash scripts/build.sh', 'scripts/lib.sh', { 'scripts/build.sh': 'source "$(dirname "$0")/lib.sh"\n' }],
    ['npm run build', 'tasks/build.js', { 'package.json': '{"scripts":{"build":"node tasks/build.js"}}' }],
    ['make', 'tasks/all.sh', { Makefile: 'all:\n\tsh tasks/all.sh\n' }],
    ['make', 'rules.mk', { Makefile: 'include rules.mk\nall:\n\ttrue\n' }],
    ['python3 a.py', 'helper.py', { 'a.py': 'import helper\n' }],
    ['node x.js', 'helper.js', { 'x.js': "const a = require('./helper')\n" }],
    ['node x.mjs', 'helper.mjs', { 'x.mjs': "import a from './helper.mjs'\n" }],
  ]

  test.each(lines)(
    '%s: %s swapped while the prompt is open is asked about again',
    async (line, swapped, files = {}) => {
      const root = await project({ [swapped]: '# harmless\n', ...files })
      const swap = () => writeFile(join(root, swapped), `touch ${root}/canary\n`)
      const { prompts, result } = await approve(root, line, swap)
      expect(prompts).toBe(2)
      expect(result).toContain('denied')
      expect(existsSync(join(root, 'canary'))).toBe(false)
    },
  )

  test('a file that appears where a program looks for it is a change too', async () => {
    const root = await project({ 'build.sh': 'true\n' })
    const { prompts } = await approve(root, 'pytest', () => writeFile(join(root, 'conftest.py'), 'print(1)\n'))
    expect(prompts).toBe(2)
  })

  test('a script outside of the workspace counts like one inside', async () => {
    const outside = await project({ 'build.sh': 'true\n' })
    const root = await project({})
    const script = join(outside, 'build.sh')
    const { prompts } = await approve(root, `bash ${script}`, () => writeFile(script, 'false\n'))
    expect(prompts).toBe(2)
  })

  test('a change of another file is none, and the approved script runs', async () => {
    const root = await project({ 'build.sh': 'echo built > out.txt\n', 'notes.md': 'a' })
    const { prompts } = await approve(root, 'bash build.sh', () => writeFile(join(root, 'notes.md'), 'b'))
    expect([prompts, existsSync(join(root, 'out.txt'))]).toEqual([1, true])
  })

  test('a script that is swapped after the answer, before the command starts, is not run', async () => {
    const root = await project({ 'build.sh': 'true\n' })
    const { agent, prompts, results } = guarded(
      [[call('1', 'shell', { command: 'bash build.sh' })], 'Done.'],
      { mode: 'ask' },
      { tools: { shell }, execution: createProcessContext({ cwd: root, sandbox: 'off' }) },
    )
    agent.hooks.hook('tool:before', () => writeFile(join(root, 'build.sh'), `touch ${root}/canary\n`))
    await agent.run({ prompt: 'Go.' })
    expect(prompts).toHaveLength(1)
    expect(results()[0]).toContain('has changed since it was approved, so nothing was run; request the call again')
    expect(existsSync(join(root, 'canary'))).toBe(false)
  })
})
