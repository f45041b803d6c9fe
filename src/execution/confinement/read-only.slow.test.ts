import { chmodSync, existsSync, readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { describe, expect, onTestFinished } from 'vitest'
import { skipped, unavailable } from '../../../test/bubblewrap-kit.ts'
import { confinedPlace, git, readOnly, write } from '../../../test/confinement-kit.ts'
import { testInTurns } from '../../../test/soak.ts'
import { shellQuote } from '../../core/execution.ts'
import { createProcessContext } from '../process.ts'

const test = testInTurns(2)

describe.skipIf(unavailable)(`the sandbox read-only${skipped}`, () => {
  test('a command reaches neither the home folder, nor other folders, processes and ports, all of which it reaches unconfined', async () => {
    const { home, cwd, outside, run } = await confinedPlace()
    write(home, { '.ssh/id': 'canary-home' })
    write(outside, { 'file.txt': 'canary-outside' })
    symlinkSync(join(outside, 'file.txt'), join(cwd, 'link'))
    process.env.LIBERO_TEST_CANARY = 'canary-environ'
    onTestFinished(() => void delete process.env.LIBERO_TEST_CANARY)
    const port = await listener()
    const command = `cat ${home}/.ssh/id ../outside/file.txt link; echo; tr '\\0' '\\n' </proc/${process.pid}/environ
ls /proc/${process.pid} >/dev/null && echo canary-process
exec 3<>/dev/tcp/127.0.0.1/${port} && cat <&3`

    const { stdout, sandbox } = await run(command)
    expect(stdout.trim()).toBe('')
    expect(sandbox?.profile).toBe('read-only')

    const context = createProcessContext({ cwd, sandbox: 'off' })
    const handle = await context.spawn()
    const { stdout: open } = await context.exec(handle, command)
    await context.destroy(handle)
    for (const canary of ['home', 'outside', 'process', 'port']) expect(open).toContain(`canary-${canary}`)
  })

  test('no file of this machine is open in a process that a command could take it from', async () => {
    const { run } = await confinedPlace()
    const line = 'for f in /proc/[0-9]*/fd/*; do [ ! -f "$f" ] || readlink "$f"; done; echo seen'
    for (const more of [{}, { hosts: ['example.org'] }, { profile: 'workspace-write' }] as const) {
      const { stdout } = await run(line, more)
      expect(stdout.split('\n').filter((one) => !one.startsWith('anon_inode:'))).toEqual(['seen', ''])
    }
  })

  test('a program that starts itself again and again ends at a number of processes, in both sandboxes', async () => {
    const { cwd } = await confinedPlace()
    const context = createProcessContext({ cwd, limits: { processes: 60 } })
    const handle = await context.spawn()
    onTestFinished(() => context.destroy(handle))
    const line = 'n=0; while [ $n -lt 100 ]; do sleep 30 & n=$((n+1)); done; echo reached'
    for (const profile of ['read-only', 'workspace-write'] as const) {
      const ran = context.exec(handle, `exec sh -c ${shellQuote(line)}`, {
        ...{ timeout: 5000, confinement: { profile, reads: [], writes: [], hidden: [], hosts: [], home: 'empty' } },
      })
      expect(`${profile}: ${(await ran).stdout}`).toBe(`${profile}: `)
    }
  })

  test('a command writes nowhere but into folders that are gone with it', async () => {
    const { home, cwd, run } = await confinedPlace()
    write(cwd, { 'file.txt': 'as it was' })
    const { stdout } = await run(`echo x >file.txt; echo x >new.txt; rm file.txt; mkdir d
echo x >/etc/hosts; echo x >/usr/x; echo x >/x; echo x >/proc/sys/kernel/core_pattern
echo mine >/tmp/t; echo mine >~/h; cat /tmp/t ~/h file.txt`)
    expect(stdout).toBe('mine\nmine\nas it was')
    expect(readdirSync(cwd)).toEqual(['file.txt'])
    expect(readdirSync(home)).toEqual([])
    expect((await run('ls -A /tmp ~')).stdout).not.toMatch(/^[th]$/m)
  })

  test('small files of the system are copies: the same content, which rules hide and nothing can change', async () => {
    const { run } = await confinedPlace()
    const users = readFileSync('/etc/passwd', 'utf8')
    expect((await run('cat /etc/passwd; grep -c " /etc/passwd " /proc/self/mountinfo')).stdout).toBe(`${users}0\n`)
    const tried = await run('echo x >>/etc/passwd; rm /etc/passwd; chmod 666 /etc/passwd; cat /etc/passwd')
    expect(tried.stdout).toBe(users)
    expect(await run('cat /etc/passwd', { hidden: ['/etc/passwd'] })).toMatchObject({ stdout: '', exitCode: 1 })
  })

  test('a path that was judged is readable, also in the home folder; one that became a link since is not', async () => {
    const { home, outside, run } = await confinedPlace()
    write(home, { 'notes/a.txt': 'judged', 'secret.txt': 'secret' })
    write(outside, { 'a.txt': 'judged too', 'b.txt': 'not' })
    symlinkSync(join(home, 'secret.txt'), join(outside, 'was-a-file'))
    const reads = [join(home, 'notes'), join(outside, 'a.txt'), join(outside, 'was-a-file'), '/proc/1/environ']
    const { stdout } = await run(`cat ~/notes/a.txt ../outside/* ~/secret.txt; ls -A ~`, { reads })
    expect(stdout).toBe('judgedjudged toonotes\n')
  })

  test('S03 a program that a project planted in a folder of PATH is not found', async () => {
    const { cwd, run } = await confinedPlace()
    const bin = join(cwd, 'node_modules/.bin')
    write(bin, { grep: '#!/bin/sh\necho planted', 'own-tool': '#!/bin/sh\necho own' })
    for (const name of readdirSync(bin)) chmodSync(join(bin, name), 0o755)
    const before = process.env.PATH
    process.env.PATH = `${bin}:.:${before}`
    onTestFinished(() => void (process.env.PATH = before))
    expect(await run('echo x | grep x')).toMatchObject({ stdout: 'x\n' })
    expect(await run('own-tool')).toMatchObject({ exitCode: 127 })
    expect(await run('node_modules/.bin/own-tool')).toMatchObject({ stdout: 'own\n' })
  })

  test('git works in a repository, a linked worktree and a subfolder of a repository', async () => {
    const { top, cwd, run } = await confinedPlace()
    write(cwd, { 'a.txt': 'one\n' })
    git(cwd, 'init', '-q')
    git(cwd, 'add', '-A')
    git(cwd, 'commit', '-qm', 'first')
    expect((await run('git log --format=%s; git status --short')).stdout).toBe('first\n')
    git(cwd, 'worktree', 'add', '-q', join(top, 'linked'))
    write(cwd, { 'sub/b.txt': 'two' })
    for (const place of ['linked', 'workspace/sub']) {
      const other = await confinedPlace({ top, cwd: place })
      const { stdout } = await other.run('git log --format=%s; git show HEAD:a.txt; git status --short .')
      expect(stdout).toBe(place === 'linked' ? 'first\none\n' : 'first\none\n?? ./\n')
    }
  })

  test('a project cannot show itself another repository, nor the home folder that is one', async () => {
    const { top, home, cwd, outside, run } = await confinedPlace({ cwd: 'home/workspace' })
    write(outside, { 'a.txt': 'canary' })
    git(outside, 'init', '-q')
    git(outside, 'add', '-A')
    git(outside, 'commit', '-qm', 'canary')
    write(cwd, { '.git': `gitdir: ${join(outside, '.git')}\n` })
    expect(await run('git log; git cat-file --batch-all-objects --batch')).toMatchObject({ stdout: '', exitCode: 128 })
    git(home, 'init', '-q')
    write(home, { 'private.txt': 'canary' })
    const other = await confinedPlace({ top, cwd: 'home/other' })
    expect((await other.run('cat ../private.txt; git show :private.txt')).stdout).toBe('')
  })

  test('time limits, aborts, input, streamed output, left processes and missing folders are as in other contexts', async () => {
    const { run } = await confinedPlace()
    expect(await run('trap "echo bye; exit" TERM; sleep 30 & wait', {}, { timeout: 300 })).toMatchObject({
      ...{ stdout: 'bye\n', exitCode: null, timedOut: true },
    })
    const stop = new AbortController()
    const stopped = run('echo begun; sleep 30', {}, { signal: stop.signal, onOutput: () => stop.abort() })
    expect(await stopped).toMatchObject({ exitCode: null })
    expect(await run('cat; cat', {}, { input: 'line\n' })).toMatchObject({ stdout: 'line\n' })
    expect(await run('readlink /proc/self/fd/0')).toMatchObject({ stdout: '/dev/null\n' })
    const heard: string[] = []
    const said = await run('echo out; echo err >&2', {}, { onOutput: (text, from) => void heard.push(from + text) })
    expect([heard.sort(), said.stdout, said.stderr]).toEqual([['stderrerr\n', 'stdoutout\n'], '', ''])
    expect(await run('sleep 77 & true')).toMatchObject({ exitCode: 0, leftRunning: ['sleep 77'] })
    expect(await run(`printf '%s' "a'b\n$(printf 'c\\nd')"; exit 3`)).toMatchObject({
      stdout: "a'b\nc\nd",
      exitCode: 3,
    })
    await expect(run('true', {}, { cwd: 'missing' })).rejects.toMatchObject({ code: 'ENOENT' })
    await expect(run('true', {}, { cwd: '/work-that-is-not-shown' })).rejects.toThrow('does not exist in the sandbox')
  })
})

describe.skipIf(unavailable)(`the process context${skipped}`, () => {
  test('T04 settings of package managers are files of the project for git, unless they hold a token', async () => {
    const { cwd, run } = await confinedPlace()
    write(cwd, {
      '.npmrc': `save-exact=true\n//r.example/:_authToken=\${TOKEN}\n`,
      '.yarnrc.yml': 'a: 1\n',
      'a.txt': 'a\n',
    })
    git(cwd, 'init', '-q')
    git(cwd, 'add', '-A')
    write(cwd, { 'a.txt': 'b\n' })
    const look = 'git status --short | grep M; git diff --name-only; cat .npmrc | head -n 1'
    expect((await run(look, readOnly)).stdout).toBe('AM a.txt\na.txt\nsave-exact=true\n')
    write(cwd, { '.npmrc': '//r.example/:_authToken=canary\n', '.yarnrc.yml': 'npmAuthToken: "canary"\n' })
    for (const profile of ['read-only', 'workspace-write'] as const)
      expect((await run('cat .npmrc .yarnrc.yml', { profile })).stdout).toBe('')
  })

  test('it says which sandboxes it has, and refuses a confinement that is switched off', async () => {
    const { cwd } = await confinedPlace()
    const context = createProcessContext({ cwd })
    const handle = await context.spawn()
    expect(await context.sandbox?.(handle)).toMatchObject({ by: 'bubblewrap' })
    expect(await context.exec(handle, 'touch x; id -u', { confinement: readOnly })).toMatchObject({
      stdout: `${process.getuid?.()}\n`,
      sandbox: { profile: 'read-only' },
    })
    expect(await context.exec(handle, 'touch y')).not.toHaveProperty('sandbox')
    expect(readdirSync(cwd)).toEqual(['y'])
    await context.destroy(handle)

    const off = createProcessContext({ cwd, sandbox: 'off' })
    const other = await off.spawn()
    expect(await off.sandbox?.(other)).toEqual({ profiles: [], why: 'it was switched off' })
    await expect(off.exec(other, 'touch z', { confinement: readOnly })).rejects.toMatchObject({ code: 'ENOSANDBOX' })
    expect(existsSync(join(cwd, 'z'))).toBe(false)
    await off.destroy(other)
  })
})

async function listener(): Promise<number> {
  const server = createServer((socket) => socket.end('canary-port'))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const address = server.address()
  return typeof address === 'object' && address !== null ? address.port : 0
}
