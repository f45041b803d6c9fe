import { mkdirSync, readdirSync, realpathSync, renameSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished } from 'vitest'
import { emptyFolder, skipped, unavailable } from '../../test/bubblewrap-kit.ts'
import { readOnly, workspaceWrite, write } from '../../test/confinement-kit.ts'
import { testInTurns } from '../../test/soak.ts'
import type { Confinement } from '../core/execution.ts'
import { createProcessContext } from './process.ts'

const test = testInTurns(2)

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

  test.each([
    ['read-only', readOnly],
    ['workspace-write', workspaceWrite],
  ])('one that changes with a link again and again is never shown as what that leads to, in %s', async (_, how) => {
    const { inner, outer, outside } = await nested()
    const flips = outer.run(flipping('pkg', '../outside'), workspaceWrite)
    const shown = await whileRuns(flips, () => inner.run('cat secret.txt; echo x >new', how))
    expect(shown).not.toContain('canary')
    expect(readdirSync(outside)).toEqual(['secret.txt'])
  })

  test('a path that was judged is not left by a link that takes its place while the sandbox is built', async () => {
    const { outer, top } = await nested()
    write(top, { 'share/data/secret.txt': 'plain' })
    const share = { ...workspaceWrite, writes: [join(top, 'share')] }
    const flips = outer.run(`cd ${top}/share; ${flipping('data', '../outside')}`, share)
    const reads = { ...readOnly, reads: [join(top, 'share/data')] }
    const shown = await whileRuns(flips, () => outer.run(`cat ${top}/share/data/secret.txt`, reads))
    expect(shown).not.toContain('canary')
  })

  test('one that is back in its place serves again', async () => {
    const { inner, outer } = await nested()
    await outer.run('mv pkg old; ln -s ../outside pkg', workspaceWrite)
    await expect(inner.run('true', workspaceWrite)).rejects.toMatchObject({ code: 'ENOSANDBOX' })
    await outer.run('rm pkg; mv old pkg', workspaceWrite)
    expect(await inner.run('cat secret.txt', workspaceWrite)).toMatchObject({ stdout: 'plain' })
  })

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
  return { outer, inner, top, outside: join(top, 'outside') }
}

/** A line by which a folder and a link change places for some seconds. */
function flipping(folder: string, target: string): string {
  return `ln -s ${target} l; end=$((SECONDS+3)); while [ $SECONDS -lt $end ]; do mv -T ${folder} x && mv -T l ${folder} && mv -T ${folder} l && mv -T x ${folder}; done`
}

/** All that commands showed, which are run one after the other as long as something runs. */
async function whileRuns(running: Promise<unknown>, run: () => Promise<{ stdout: string }>): Promise<string> {
  let isOver = false
  void running.finally(() => void (isOver = true))
  let shown = ''
  while (!isOver)
    shown += await run().then(
      ({ stdout }) => stdout,
      () => '',
    )
  return shown
}

async function spawned(cwd: string) {
  const execution = createProcessContext({ cwd })
  const handle = await execution.spawn()
  onTestFinished(() => execution.destroy(handle))
  const run = (command: string, confinement: Confinement, at = cwd) =>
    execution.exec(handle, command, { cwd: at, confinement, timeout: 20_000 })
  return { execution, handle, run }
}
