import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { emptyFolder, skipped, unavailable } from '../../../test/bubblewrap-kit.ts'
import { confinedPlace, workspaceWrite, write } from '../../../test/confinement-kit.ts'

describe.skipIf(unavailable)(`the probe of the sandbox${skipped}`, () => {
  const skipOptions = 'while [ "$1" != -- ]; do shift; done'
  const sayEnded = `echo '{ "exit-code": 0 }' >&5`
  const open = 'exec /usr/bin/bwrap --unshare-pid --bind / / --dev /dev --proc /proc'
  const weaker: Record<string, [script: string, reason: RegExp]> = {
    'runs commands unconfined': [`${skipOptions}; shift; "$@"; ${sayEnded}`, /shares the processes/],
    'shows all files': [`${skipOptions}; ${open} --json-status-fd 5 "$@"`, /read the home folder/],
    'leaves the network open': [changing('/^--unshare-net$/d'), /use the network/],
    'leaves the workspace writable': [changing('s/^--ro-bind$/--bind/'), /could write/],
    'builds nothing': ['echo "bwrap: setting up uid map: Permission denied" >&2; exit 1', /setting up uid map/],
  }

  for (const [name, [script, reason]] of Object.entries(weaker))
    test(`with a bubblewrap that ${name} there is no sandbox, and nothing runs`, async () => {
      const { cwd, outside, commands, run } = await confinedPlace({ bwrap: fake(script) })
      expect(await commands.support()).toEqual({ profiles: [], why: expect.stringMatching(reason) })
      await expect(run(`touch ${outside}/ran`)).rejects.toMatchObject({ code: 'ENOSANDBOX' })
      expect([...readdirSync(cwd), existsSync(join(outside, 'ran'))]).toEqual([false])
    })

  const failing: Record<string, [script: string, reason: RegExp]> = {
    'only says that all is well': ['exit 0', /did not say why/],
    'gets no processes': [
      'echo "bwrap: Creating new namespace failed: Resource temporarily unavailable" >&2; exit 1',
      /temporarily/,
    ],
  }
  for (const [name, [script, reason]] of Object.entries(failing))
    test(`with a bubblewrap that ${name} it is not known whether there is a sandbox, and nothing runs`, async () => {
      const bwrap = fake(`[ -e "$0.well" ] || { ${script}; }; exec /usr/bin/bwrap "$@"`)
      const { commands, run } = await confinedPlace({ bwrap })
      expect(await commands.support()).toEqual({ profiles: [], why: expect.stringMatching(reason), isUntried: true })
      await expect(run('true')).rejects.toMatchObject({ code: 'ENOSANDBOX', message: expect.stringMatching(reason) })
      writeFileSync(`${bwrap}.well`, '')
      expect(await commands.support()).toEqual({ profiles: ['read-only', 'workspace-write'], by: 'bubblewrap' })
    })

  test('a folder for temporary files that cannot be used does not count as a machine without a sandbox', async () => {
    const bwrap = fake('exec /usr/bin/bwrap "$@"')
    const { top, commands, run } = await confinedPlace({ bwrap })
    write(top, { file: '' })
    vi.stubEnv('TMPDIR', join(top, 'file'))
    onTestFinished(() => void vi.unstubAllEnvs())
    const why = expect.stringMatching(/EEXIST.*Set TMPDIR to a folder.*--sandbox off/s)
    expect(await commands.support()).toEqual({ profiles: [], why, isUntried: true })
    await expect(run('true')).rejects.toMatchObject({ code: 'ENOSANDBOX', message: why })
    vi.unstubAllEnvs()
    expect(await commands.support()).toMatchObject({ by: 'bubblewrap' })
    expect(await run('echo ok')).toMatchObject({ stdout: 'ok\n' })
  })

  test('a folder that another user made in the place of ours is not used, and another one is', async () => {
    const { top, commands } = await confinedPlace({ bwrap: fake('exec /usr/bin/bwrap "$@"') })
    const folder = join(top, 'temporary')
    mkdirSync(join(folder, `libero-sandboxes-${process.getuid?.()}`), { recursive: true, mode: 0o777 })
    vi.stubEnv('TMPDIR', folder)
    onTestFinished(() => void vi.unstubAllEnvs())
    expect(tmpdir()).toBe(folder)
    expect(await commands.support()).toMatchObject({ by: 'bubblewrap' })
  })

  const onlyWhereItWrites = (sed: string): string =>
    `tr '\\0' '\\n' <&3 >"$0.args"; ! grep -qx -e --bind "$0.args" || sed -i '${sed}' "$0.args"; tr '\\n' '\\0' <"$0.args" >"$0.given"; exec /usr/bin/bwrap "$@" 3<"$0.given"`
  const opened: Record<string, [sed: string, reason: RegExp]> = {
    'the network': ['/^--unshare-net$/d', /use the network/],
    'the protected files': ['s/^--ro-bind$/--bind/', /could write/],
    'all files': ['/^--tmpfs$/,+1d', /read the home folder|could not be|did not run/],
  }

  for (const [what, [sed, reason]] of Object.entries(opened))
    test(`W05 with a bubblewrap that opens ${what} only where the workspace is written, no such command runs`, async () => {
      const { outside, commands, run } = await confinedPlace({ bwrap: fake(onlyWhereItWrites(sed)) })
      expect(await commands.support()).toMatchObject({ by: 'bubblewrap' })
      const refused = { code: 'ENOSANDBOX', message: expect.stringMatching(reason) }
      await expect(run(`touch ${outside}/ran`, workspaceWrite)).rejects.toMatchObject(refused)
      expect(existsSync(join(outside, 'ran'))).toBe(false)
    })

  test('a program that a project planted in a folder of PATH takes no part in it', async () => {
    const folder = emptyFolder('planted-')
    write(folder, { cat: '#!/bin/sh\nexit 0\n' })
    chmodSync(join(folder, 'cat'), 0o755)
    vi.stubEnv('PATH', `${folder}:${process.env.PATH}`)
    onTestFinished(() => void vi.unstubAllEnvs())
    const { commands } = await confinedPlace({ bwrap: fake('exec /usr/bin/bwrap "$@"') })
    expect(await commands.support()).toMatchObject({ profiles: ['read-only', 'workspace-write'] })
  })

  test('it is tried once, and again if the program was replaced', async () => {
    const bwrap = fake('echo built >>"$0.log"; exec /usr/bin/bwrap "$@"')
    const built = (): number => readFileSync(`${bwrap}.log`, 'utf8').split('built').length - 1
    const first = await confinedPlace({ bwrap })
    await first.commands.support()
    const { commands } = await confinedPlace({ bwrap })
    expect(await commands.support()).toMatchObject({ by: 'bubblewrap' })
    expect([built(), asked(bwrap)]).toEqual([1, 1])
    renameSync(fake(changing('/^--unshare-net$/d')), bwrap)
    expect(await commands.support()).toMatchObject({ profiles: [], why: expect.stringContaining('use the network') })
  })

  test('one that every user could replace is not used', async () => {
    const bwrap = fake('exec /usr/bin/bwrap "$@"')
    chmodSync(bwrap, 0o777)
    const { commands } = await confinedPlace({ bwrap })
    expect(await commands.support()).toMatchObject({ profiles: [], why: expect.stringContaining('by every user') })
  })

  test('one in the workspace is not used, and the root folder is no workspace', async () => {
    const { top, cwd } = await confinedPlace()
    write(cwd, { bwrap: '#!/bin/sh' })
    const inside = await confinedPlace({ bwrap: join(cwd, 'bwrap'), cwd })
    expect(await inside.commands.support()).toMatchObject({ profiles: [], why: expect.stringContaining(top) })
    const whole = await confinedPlace({ cwd: '/' })
    expect(await whole.commands.support()).toMatchObject({ profiles: [], why: expect.stringContaining('root folder') })
  })
})

/** Changes the arguments that bubblewrap gets. */
function changing(sed: string): string {
  return `tr '\\0' '\\n' <&3 | sed '${sed}' | tr '\\n' '\\0' >"$0.args"; exec /usr/bin/bwrap "$@" 3<"$0.args"`
}

function fake(script: string): string {
  const folder = emptyFolder('fake-')
  write(folder, {
    bwrap: `#!/bin/sh\n[ "$1" != --version ] || { echo asked >>"$0.asked"; echo bubblewrap 0.8.0; exit; }\n${script}\n`,
  })
  chmodSync(join(folder, 'bwrap'), 0o755)
  return join(folder, 'bwrap')
}

/** How often its version was asked for. */
function asked(bwrap: string): number {
  return readFileSync(`${bwrap}.asked`, 'utf8').split('asked').length - 1
}
