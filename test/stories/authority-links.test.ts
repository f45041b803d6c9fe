import { existsSync } from 'node:fs'
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createProcessContext } from '../../src/index.ts'
import { call } from '../../src/testing/index.ts'
import { readFile, shell } from '../../src/tools/index.ts'
import { temporary } from '../temporary.ts'
import { guarded } from './authority-kit.ts'

async function workspace(): Promise<string> {
  const base = await temporary('links-')
  const root = join(base, 'root')
  await mkdir(join(root, 'deps'), { recursive: true })
  await mkdir(join(root, '.git', 'hooks'), { recursive: true })
  await mkdir(join(base, '.ssh'))
  await writeFile(join(base, '.ssh', 'id_x'), 'private')
  await writeFile(join(root, 'deps', 'a.txt'), 'a')
  await symlink('../.ssh/id_x', join(root, 'notes.txt'))
  await symlink('deps', join(root, 'linked'))
  await symlink('.git/hooks', join(root, 'out'))
  return root
}

test('FS-03 a link that leads out of the workspace is judged by where it leads, in a tool and in a shell line', async () => {
  const cwd = await workspace()
  const calls = [
    call('1', 'read_file', { path: 'notes.txt' }),
    call('2', 'shell', { command: 'cat notes.txt' }),
    call('3', 'shell', { command: 'echo x > out/pre-commit' }),
    call('4', 'shell', { command: 'cat linked/a.txt' }),
  ]
  const { agent, prompts } = guarded(
    [calls, 'Done.'],
    { mode: 'allowlist', allow: ['fs.read', 'fs.write', 'shell:cat', 'shell:echo'] },
    { tools: { readFile, shell }, execution: createProcessContext({ cwd }), answer: () => false },
  )
  await agent.run({ prompt: 'Look.' })
  expect(prompts.map(({ payload }) => (payload.call as { callId: string }).callId)).toEqual(['1', '2', '3'])
  expect(prompts.map(({ payload }) => String(payload.description).includes('protected'))).toEqual([true, true, true])
})

test('FS-03 a link inside the workspace does not lead around a rule, and costs no question otherwise', async () => {
  const cwd = await workspace()
  const calls = ['cat linked/a.txt', 'cat deps/a.txt'].map((command, i) => call(String(i), 'shell', { command }))
  const judged = async (deny: string[]): Promise<unknown[]> => {
    const { agent, records } = guarded(
      [calls, 'Done.'],
      { mode: 'allowlist', allow: ['shell:cat'], deny },
      { tools: { shell }, execution: createProcessContext({ cwd }) },
    )
    await agent.run({ prompt: 'Look.' })
    return records.flatMap(({ decision }) => (decision ? [decision.verdict] : []))
  }
  expect(await judged([])).toEqual(['allow', 'allow'])
  expect(await judged(['fs.read:deps/*'])).toEqual(['deny', 'deny'])
})

test('FS-04 a link to what is not there yet is judged by where it leads', async () => {
  const cwd = await workspace()
  await symlink('../new.txt', join(cwd, 'fresh.txt'))
  const calls = [
    call('1', 'shell', { command: 'echo x > fresh.txt' }),
    call('2', 'shell', { command: 'echo x > plain.txt' }),
  ]
  const { agent, prompts } = guarded(
    [calls, 'Done.'],
    { mode: 'allowlist', allow: ['shell:echo', 'fs.write:*.txt'], deny: [`fs.write:${join(cwd, '..')}/new*`] },
    { tools: { shell }, execution: createProcessContext({ cwd }), answer: () => 'once' },
  )
  await agent.run({ prompt: 'Write.' })
  // Without a sandbox that can write, a person is asked about the other one.
  expect(prompts.filter(({ payload }) => String(payload.description).includes('fresh.txt'))).toEqual([])
  expect(existsSync(join(cwd, '../new.txt'))).toBe(false)
  expect(existsSync(join(cwd, 'plain.txt'))).toBe(true)
})
