import { mkdirSync, readdirSync, realpathSync, renameSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { emptyFolder, skipped, unavailable } from '../../test/bubblewrap-kit.ts'
import { readOnly, workspaceWrite, write } from '../../test/confinement-kit.ts'
import type { Confinement } from '../core/execution.ts'
import { createProcessContext } from './process.ts'

describe.skipIf(unavailable)(`a workspace in another one${skipped}`, () => {
  test.each([
    ['read-only', readOnly, 'before its first command'],
    ['read-only', readOnly, 'after a command'],
    ['workspace-write', workspaceWrite, 'before its first command'],
    ['workspace-write', workspaceWrite, 'after a command'],
  ])(
    'in %3$s, a link that a command of the outer one puts in its place opens nothing in %1$s',
    async (_, confinement, when) => {
      const { inner, outer, outside } = await nested()
      if (when === 'after a command') await inner.run('true', readOnly)
      await outer.run('mv pkg old; ln -s ../outside pkg', workspaceWrite)
      await expect(inner.run('cat secret.txt; echo x >new', confinement)).rejects.toMatchObject({
        code: 'ENOSANDBOX',
        message: expect.stringContaining('spawn another handle'),
      })
      await expect(inner.execution.readFile(inner.handle, 'secret.txt')).rejects.toMatchObject({ code: 'EOUTSIDE' })
      await expect(inner.execution.writeFile(inner.handle, 'new', 'x')).rejects.toMatchObject({ code: 'EOUTSIDE' })
      expect(readdirSync(outside)).toEqual(['secret.txt'])
    },
  )

  test('one that leads to the root folder does not count as a workspace that has no sandbox', async () => {
    const { inner, outer } = await nested()
    await outer.run('mv pkg old; ln -s / pkg', workspaceWrite)
    expect(await inner.execution.sandbox!(inner.handle)).toMatchObject({ by: 'bubblewrap' })
  })

  test('a workspace that is reached by a link is the folder where that led when the handle was made', async () => {
    const top = realpathSync(emptyFolder('linked-'))
    write(top, { 'a/in.txt': 'first', 'b/in.txt': 'second' })
    symlinkSync('a', join(top, 'w'))
    const { run, execution, handle } = await spawned(join(top, 'w'))
    symlinkSync('b', join(top, 'other'))
    renameSync(join(top, 'other'), join(top, 'w'))
    const shown = await run(`cat in.txt ${top}/b/in.txt ${top}/w/in.txt`, readOnly, join(top, 'a'))
    expect(shown.stdout).toBe('first')
    await expect(execution.readFile(handle, 'in.txt')).rejects.toMatchObject({ code: 'EOUTSIDE' })
  })
})

/** A workspace, a folder in it that is another one, and a folder outside. */
async function nested() {
  const top = realpathSync(emptyFolder('nested-'))
  write(top, { 'work/pkg/secret.txt': 'plain', 'outside/secret.txt': 'canary' })
  mkdirSync(join(top, 'work/other'))
  const [outer, inner] = [await spawned(join(top, 'work')), await spawned(join(top, 'work/pkg'))]
  return { outer, inner, outside: join(top, 'outside') }
}

async function spawned(cwd: string) {
  const execution = createProcessContext({ cwd })
  const handle = await execution.spawn()
  onTestFinished(() => execution.destroy(handle))
  const run = (command: string, confinement: Confinement, at = cwd) =>
    execution.exec(handle, command, { cwd: at, confinement, timeout: 20_000 })
  return { execution, handle, run }
}
