import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { unavailable } from '../../../test/bubblewrap-kit.ts'
import { fakeIo, runLibero } from '../../../test/cli/fake-io.ts'
import { write } from '../../../test/cli/prompt-commands.ts'
import { createProcessContext } from '../../execution/process.ts'

/** A project with a secret that a rule hides and a setting that no command may change, and a home beside it. */
function place() {
  const folder = fakeIo().cwd
  const io = fakeIo({ cwd: join(folder, 'project'), home: join(folder, 'own'), userHome: join(folder, 'user') })
  mkdirSync(join(folder, 'user/.ssh'), { recursive: true })
  writeFileSync(join(folder, 'user/.ssh/id'), 'key')
  write(io.cwd, '.env', 'TOKEN=1')
  write(io.cwd, '.vscode/tasks.json', '{}')
  write(io.home, 'authority.json', JSON.stringify({ deny: ['fs.read:.env'] }))
  return io
}

describe.skipIf(unavailable)('SB09 libero sandbox', () => {
  test('lists what exists in the sandbox of a command, as the command finds it', async () => {
    const io = place()
    const shown = JSON.parse((await runLibero(['sandbox', '--json', '--', 'cat', 'a'], io)).out)
    expect(shown).toMatchObject({
      by: 'bubblewrap',
      verdict: 'allow',
      confinement: { profile: 'read-only' },
      writes: [],
    })
    expect(shown.hidden).toEqual([join(io.cwd, '.env')])
    expect(shown.reads).toContain(io.cwd)
    const context = createProcessContext({ cwd: io.cwd })
    const handle = await context.spawn()
    const { confinement } = shown
    const run = (command: string) => context.exec(handle, command, { confinement })
    expect((await run(`ls -d ${shown.reads.join(' ')}`)).stderr).toBe('')
    expect((await run(`ls -d ${io.userHome} /srv`)).stdout).toBe('')
    expect((await run(`cat ${shown.hidden.join(' ')}`)).stdout).toBe('')
    await context.destroy(handle)
  })

  test('W07 lists what the user adds to every sandbox, and nothing that a trusted project would add', async () => {
    const io = place()
    for (const name of ['user/data/a', 'user/.npm/b', 'user/other/c']) write(dirname(io.cwd), name, 'x')
    write(io.home, 'config.json', JSON.stringify({ sandboxPaths: { read: ['~/data'], caches: ['~/.npm/'] } }))
    write(io.cwd, '.libero/config.json', JSON.stringify({ sandboxPaths: { read: ['~/other'], caches: ['~/.ssh'] } }))
    const { cwd, home, userHome } = io
    const libero = (...words: string[]) => runLibero(words, fakeIo({ cwd, home, userHome }))
    const [, digest = ''] = /^digest: (\w+)$/m.exec((await libero('trust')).out) ?? []
    expect(await libero('trust', '--digest', digest)).toMatchObject({ code: 0 })
    const shown = JSON.parse((await libero('sandbox', '--json', '--', 'npm', 'test')).out)
    const inUser = (paths: readonly string[]): string[] => paths.filter((path) => path.startsWith(userHome))
    expect([inUser(shown.reads), inUser(shown.writes)]).toEqual([[`${userHome}/data`], [`${userHome}/.npm`]])
  })

  test('in yolo the home can be read but for its secrets, and settings of the project cannot be changed', async () => {
    const io = place()
    const { out } = await runLibero(['sandbox', '--mode', 'yolo', '--', 'make'], io)
    expect(out).toContain(
      '`make` would run in the sandbox workspace-write: any network; home readable except for secrets',
    )
    expect(out).toMatch(new RegExp(`can be read:[^:]*\n  ${io.userHome}\n`))
    expect(out).toContain(`can be written:\n  ${io.cwd}\n`)
    expect(out).toMatch(new RegExp(`cannot be changed[^:]*:\n  ${io.cwd}/.vscode\n`))
    expect(out).toMatch(new RegExp(`hidden:\n(?:.*\n)*  ${io.userHome}/.ssh\n`))
  })
})

test('SB09 libero sandbox says why there is none, and that a line would be refused', async () => {
  const io = place()
  write(io.home, 'config.json', '{"sandbox":"off"}')
  expect((await runLibero(['sandbox', '--mode', 'plan', '--', 'make'], io)).out).toMatch(
    /^no sandbox: it was switched off\n`make` would be refused: the mode is plan/,
  )
  io.clear()
  expect((await runLibero(['sandbox', '--', 'make'], io)).out).toContain(
    '`make` would run OUTSIDE any sandbox, with all your rights, if a person allows it',
  )
})
