import { spawn, spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import { nobodyCanRunNode } from '../../test/as-nobody.ts'
import { begun, emptyFolder, isRoot, place, skipped, startingChildren, unavailable } from '../../test/bubblewrap-kit.ts'
import { sampleOf, testInTurns } from '../../test/soak.ts'
import { executionContract } from '../testing/index.ts'
import { checkProcessLimit } from './bubblewrap/check.ts'
import { privateFoldersRoot as privatePlacesOfAll } from './bubblewrap/private-folder.ts'
import { createBubblewrapContext } from './bubblewrap.ts'

// Most of them start sandboxes.
const test = testInTurns(3)

const child = fileURLToPath(new URL('../../test/bubblewrap-child.ts', import.meta.url))
const hasPerl = spawnSync('perl', ['-e', '1']).status === 0
const childArgs = ['--conditions=libero-source', child]

describe.skipIf(unavailable)(`the bubblewrap context keeps the contract${skipped}`, () => {
  const scratch = mkdtempSync(join(tmpdir(), 'libero-bubblewrap-contract-'))
  afterAll(() => rmSync(scratch, { recursive: true, force: true }))
  const cases = executionContract(() => createBubblewrapContext({ cwd: mkdtempSync(join(scratch, 'w-')) }))
  for (const one of sampleOf(cases, 15)) it(`A226 ${one.name}`, one.run)
})

describe.skipIf(unavailable)(`a sandbox and what it leaves behind${skipped}`, () => {
  test('the temporary folder is its own, shared by commands and file verbs, and gone at the end', async () => {
    const before = privatePlaces()
    const { context, handle, run } = await place()
    const other = await place()
    expect((await run('ls -A /tmp/secret* 2>&1; echo mine > /tmp/f; echo $TMPDIR; mktemp')).stdout).toMatch(
      /\/tmp\n\/tmp\/tmp\./,
    )
    expect(await context.readFile(handle, '/tmp/f')).toBe('mine\n')
    await context.writeFile(handle, '/tmp/g', 'by a verb')
    expect((await run('cat /tmp/f /tmp/g /var/tmp/g')).stdout).toBe('mine\nby a verbby a verb')
    expect((await other.run('cat /tmp/f')).exitCode).toBe(1)
    const keys = [await context.stat?.(handle, '/tmp/f'), await context.stat?.(handle, '/tmp/g')].map(
      (info) => info?.key,
    )
    expect(keys[0]).toContain(handle.id)
    expect(existsSync('/tmp/g')).toBe(false)
    await run('mkdir -p /tmp/locked/in; chmod 500 /tmp/locked; chmod 000 /tmp/locked/in')
    for (const one of [{ context, handle }, other]) await one.context.destroy(one.handle)
    expect(privatePlaces()).toEqual(before)
  })

  test('a file has the same key as in other contexts of this machine', async () => {
    const { context, handle, cwd } = await place()
    await context.writeFile(handle, 'f', 'x')
    expect((await context.stat?.(handle, 'f'))?.key).toBe(`file:${join(cwd, 'f')}`)
    expect((await context.openFile?.(handle, 'f'))?.info.key).toBe(`file:${join(cwd, 'f')}`)
  })

  test('a command that is told to end has time to tidy up', async () => {
    const { run } = await place()
    const command = `trap 'echo tidied; exit 3' TERM; echo begun; while :; do sleep 0.05; done`
    expect(await run(command, { timeout: 2500 })).toMatchObject({
      stdout: 'begun\ntidied\n',
      exitCode: null,
      timedOut: true,
    })
    const stubborn = await run(`trap '' TERM; echo begun; while :; do sleep 0.05; done`, { timeout: 2500 })
    expect(stubborn).toMatchObject({ stdout: 'begun\n', exitCode: null, timedOut: true })
  })

  test('a command that has not begun when it is told to end does not begin later', async () => {
    const { run, cwd } = await place()
    for (const timeout of [1, 5, 10, 20, 40]) await run('sleep 0.2; touch late', { timeout })
    expect(readdirSync(cwd)).not.toContain('late')
  })

  test('RS-03 a daemon ends with its command and is named, wherever it went', async () => {
    const { run, cwd } = await place()
    const daemon = `setsid nohup sh -c 'while :; do echo beat >> beats; sleep 0.05; done' >/dev/null 2>&1 &`
    const { leftRunning, exitCode } = await run(
      `${daemon} env -i setsid sleep 9999 & while [ ! -e beats ]; do sleep 0.01; done`,
    )
    expect(exitCode).toBe(0)
    expect(leftRunning).toEqual(expect.arrayContaining(['sleep 9999', expect.stringContaining('echo beat')]))
    const beats = readFileSync(join(cwd, 'beats'), 'utf8')
    await new Promise((resolve) => setTimeout(resolve, 300))
    expect(readFileSync(join(cwd, 'beats'), 'utf8')).toBe(beats)
  })

  test('RS-03 when this process is killed, everything inside dies, and the next one tidies up', async () => {
    const cwd = emptyFolder()
    const harness = spawn(process.execPath, [...childArgs, 'hang', cwd], { stdio: 'ignore' })
    onTestFinished(() => void harness.kill('SIGKILL'))
    await begun(cwd)
    expect(inFolder(cwd)).not.toEqual([])
    harness.kill('SIGKILL')
    await new Promise((resolve) => harness.once('exit', resolve))
    for (let n = 0; n < 200 && inFolder(cwd).length > 0; n++) await new Promise((resolve) => setTimeout(resolve, 20))
    expect(inFolder(cwd)).toEqual([])
    // What stood in for missing files is removed by the keeper, or by the next sandbox.
    // A sandbox that began elsewhere meanwhile may have tidied up already.
    expect(privatePlaces(harness.pid).length).toBeLessThanOrEqual(1)
    const { context, handle, run } = await place({ cwd })
    expect((await run('mkdir -p .vscode && echo x > .vscode/x')).exitCode).toBe(1)
    expect(privatePlaces(harness.pid)).toEqual([])
    await context.destroy(handle)
    expect(readdirSync(cwd)).toEqual(['begun'])
  })

  test('when this process exits, what stood in for missing files goes with it', () => {
    const cwd = emptyFolder()
    const { stdout, pid } = spawnSync(process.execPath, [...childArgs, 'exit', cwd], {
      encoding: 'utf8',
      timeout: 20_000,
    })
    expect(stdout).toContain('.vscode')
    expect(readdirSync(cwd)).toEqual(['begun'])
    expect(privatePlaces(pid)).toEqual([])
  })

  test('after destroy nothing can be done any more', async () => {
    const { context, handle } = await place()
    await context.destroy(handle)
    for (const verb of ['readFile', 'listFiles', 'stat', 'openFile', 'exec'] as const)
      await expect((async () => context[verb]?.(handle, 'x'))()).rejects.toThrow(/was destroyed/)
  })
})

describe.skipIf(unavailable)(`limits${skipped}`, () => {
  const bomb = 'bomb() { bomb | bomb & }; bomb; sleep 1; set -- /proc/[0-9]*; echo $#'

  test('RS-02 a fork bomb is bounded, and we stay responsive', async () => {
    const { run } = await place({ limits: { processes: 100 } })
    const work = run(bomb, { timeout: 4000 })
    for (let n = 0; n < 10; n++) await new Promise((resolve) => setTimeout(resolve, 10))
    const other = await place()
    expect((await other.run('echo alive')).stdout).toBe('alive\n')
    const { stdout } = await work
    expect(Number(stdout || 0)).toBeLessThan(110)
    expect((await run('echo again')).stdout).toBe('again\n')
  })

  test.skipIf(!hasPerl)('RS-02 so many are possible, and no more', async () => {
    const { run } = await place({ limits: { processes: 60 } })
    expect(Number((await run(startingChildren(30))).stdout)).toBe(30)
    const started = Number((await run(`ulimit -u unlimited 2>/dev/null; ${startingChildren(200)}`)).stdout)
    expect(started).toBeGreaterThan(40)
    expect(started).toBeLessThanOrEqual(60)
  })

  test('RS-04 who takes too much memory or disk dies alone', async () => {
    const { run } = await place({ limits: { memoryMb: 200, fileSizeMb: 5 } })
    expect((await run('tail /dev/zero')).stderr).toMatch(/memory exhausted/)
    const { exitCode } = await run('dd if=/dev/zero of=big bs=1M count=50 2>/dev/null; c=$?; wc -c < big; exit $c')
    expect(exitCode).not.toBe(0)
    expect((await run('wc -c < big')).stdout.trim()).toBe(String(5 * 1024 * 1024))
    const memory = await place()
    const fill = 'dd if=/dev/zero of=/dev/shm/big bs=1M count=1000'
    expect((await memory.run(fill)).stderr).toMatch(/No space left/)
    expect((await run('echo alive')).stdout).toBe('alive\n')
  })
})

describe.skipIf(unavailable || !nobodyCanRunNode)(
  `as another user than root${nobodyCanRunNode ? skipped : ' (skipped: changing the user takes root, and a folder open to all)'}`,
  () => {
    test('FS-11 RS-02 SE-02 the same limits apply', () => {
      const cwd = emptyFolder()
      chmodSync(cwd, 0o777)
      const nobody = ['--reuid=65534', '--regid=65534', '--clear-groups', process.execPath, ...childArgs]
      const env = { PATH: process.env.PATH, HOME: '/nonexistent', TMPDIR: scratchFor('tmp'), SECRET_KEY: 'canary-0001' }
      const done = spawnSync('setpriv', [...nobody, 'walls', cwd], { env, encoding: 'utf8', timeout: 50_000 })
      expect(done.stderr).toBe('')
      const seen = JSON.parse(done.stdout)
      expect(seen).toMatchObject({
        id: '65534',
        wrote: 'fine',
        outside: 'EOUTSIDE',
        held: 1,
        etc: 1,
        canary: '',
        again: 'ok\n',
      })
      if (hasPerl) expect(seen.started).toBeGreaterThan(80)
      expect(seen.started).toBeLessThanOrEqual(100)
      expect(readdirSync(cwd)).toEqual(['f'])
    })
  },
)

describe('when the sandbox cannot be set up', () => {
  const onLinux = process.platform === 'linux'
  const fake = (name: string, script: string): string => {
    const path = join(scratchFor('bin'), name)
    writeFileSync(path, `#!/bin/sh\n${script}\n`, { mode: 0o755 })
    return path
  }
  const attempt = async (bwrap: string, cwd = emptyFolder()): Promise<string> => {
    const before = privatePlaces()
    const failure = await createBubblewrapContext({ cwd, bwrap })
      .spawn()
      .catch((error: Error) => error.message)
    expect(privatePlaces()).toEqual(before)
    expect(readdirSync(cwd)).toEqual([])
    return String(failure)
  }

  test.skipIf(!onLinux)('a missing bubblewrap is an error that says how to get it', async () => {
    expect(await attempt('/usr/bin/there-is-no-bwrap')).toMatch(
      /There is no .*Nothing was run.*apt-get install bubblewrap.*dnf/,
    )
    expect(await attempt('bwrap')).toMatch(/absolute path/)
  })

  test.skipIf(!onLinux)('one that may not make namespaces is an error that says which setting to change', async () => {
    const says = 'bwrap: No permissions to create new namespace, likely because the kernel does not allow it'
    const forbidden = fake(
      'forbidden',
      `[ "$1" = --version ] && echo bubblewrap 0.8.0 && exit; echo "${says}" >&2; exit 1`,
    )
    expect(await attempt(forbidden)).toMatch(/nothing was run: No permissions.*sysctl.*AppArmor/)
    const liar = fake('liar', `[ "$1" = --version ] && echo bubblewrap 0.8.0 && exit; exit 0`)
    expect(await attempt(liar)).toMatch(/could not be built/)
    expect(await attempt(fake('old', 'echo bubblewrap 0.3.1'))).toMatch(/version 0.3.1, at least 0.5/)
  })

  test.skipIf(!onLinux)('one that lies where commands may write is not used', async () => {
    const cwd = emptyFolder()
    const planted = join(cwd, 'bwrap')
    writeFileSync(planted, '#!/bin/sh\ntouch ran\n', { mode: 0o755 })
    await expect(createBubblewrapContext({ cwd, bwrap: planted }).spawn()).rejects.toThrow(/which commands may write/)
    expect(readdirSync(cwd)).toEqual(['bwrap'])
  })

  test.skipIf(unavailable || !isRoot)(`a system without user namespaces${skipped}`, () => {
    const cwd = emptyFolder()
    const script = `echo 0 > /proc/sys/user/max_user_namespaces; exec "$@"`
    const args = ['-Ur', 'sh', '-c', script, 'x', process.execPath, ...childArgs, 'spawn', cwd]
    const { stdout } = spawnSync('unshare', args, { encoding: 'utf8', timeout: 50_000 })
    expect(stdout).toMatch(/^The sandbox could not be built, and nothing was run: .*max_user_namespaces/)
  })

  test('another system is told what to use in its place', async () => {
    const { platform } = process
    Object.defineProperty(process, 'platform', { value: 'darwin' })
    try {
      await expect(createBubblewrapContext({ cwd: emptyFolder() }).spawn()).rejects.toThrow(
        /Linux only.*darwin.*Docker/,
      )
    } finally {
      Object.defineProperty(process, 'platform', { value: platform })
    }
  })

  test.skipIf(!onLinux)('roots that would undo it are refused', async () => {
    await expect(createBubblewrapContext({ roots: ['/'] }).spawn()).rejects.toThrow(/cannot be a root/)
    await expect(createBubblewrapContext({ roots: [tmpdir()] }).spawn()).rejects.toThrow(/keeps its own files/)
  })

  test('a kernel that cannot count the processes of a sandbox apart is told', () => {
    expect(() => checkProcessLimit('5.10.0-8-amd64', false)).toThrow(/Linux 5.10.0.*5.14.*processes: 0/)
    for (const kernel of ['5.14.0', '5.15.0-generic', '6.1.0', '10.0']) checkProcessLimit(kernel, false)
    checkProcessLimit('5.10.0', true)
  })

  test('options that do not exist, or mean nothing, are refused', () => {
    const wrong: [unknown, RegExp][] = [
      [{ root: [] }, /unknown option "root"; there are cwd, roots/],
      [{ roots: ['relative'] }, /roots must be a list of absolute paths/],
      [{ network: { allow: ['*'] } }, /network.allow has "\*"/],
      [{ network: { allow: 'x.test' } }, /network.allow must be a list/],
      [{ network: { deny: ['x.test'] } }, /network.allow must be a list/],
      [{ limits: { memory: 5 } }, /unknown limit "memory"/],
      [{ limits: { memoryMb: 0 } }, /limits.memoryMb must be/],
      [{ env: { A: 1 } }, /env.A must be a string/],
    ]
    for (const [options, message] of wrong) expect(() => createBubblewrapContext(options as object)).toThrow(message)
  })
})

function privatePlaces(pid = process.pid): string[] {
  const all = privatePlacesOfAll()
  return (existsSync(all) ? readdirSync(all) : []).filter((name) =>
    new RegExp(`^libero-sandbox-[0-9a-f]+-${pid}-`).test(name),
  )
}

function scratchFor(name: string): string {
  const folder = emptyFolder(name)
  chmodSync(folder, 0o777)
  return folder
}

/** The processes of this machine that work in a folder. */
function inFolder(folder: string): string[] {
  const script = `for p in /proc/[0-9]*; do [ "$(readlink $p/cwd)" = '${folder}' ] && echo $p; done; true`
  return spawnSync('sh', ['-c', script], { encoding: 'utf8' }).stdout.split('\n').filter(Boolean)
}
