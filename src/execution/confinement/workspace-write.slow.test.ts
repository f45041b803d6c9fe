import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { describe, expect, onTestFinished, vi } from 'vitest'
import { skipped, unavailable } from '../../../test/bubblewrap-kit.ts'
import { confinedPlace, git, workspaceWrite, write } from '../../../test/confinement-kit.ts'
import { testInTurns } from '../../../test/soak.ts'
import { createProcessContext } from '../process.ts'

const test = testInTurns(2)

describe.skipIf(unavailable)(`the sandbox workspace-write${skipped}`, () => {
  test('a command writes in the workspace but for its protected paths, and reaches nothing else', async () => {
    const { home, cwd, outside, run } = await confinedPlace()
    write(home, { '.ssh/id': 'canary', '.bashrc': 'canary' })
    write(outside, { 'a.txt': 'canary' })
    write(cwd, { '.env': 'canary', 'old.txt': 'old' })
    git(cwd, 'init', '-q')
    const command = `echo new >new.txt; rm old.txt; echo x >.npmrc; echo x >.git/hooks/post-checkout; git config a.b c
mv .git moved; echo x >>~/.bashrc; echo x >../outside/b.txt; echo x >/etc/x
cat ~/.ssh/id ../outside/a.txt .env; (exec 3<>/dev/tcp/127.0.0.1/80) 2>/dev/null && echo connected; echo ended`
    const hidden = [join(cwd, '*.env')]
    const result = await run(command, { ...workspaceWrite, hidden })
    expect(result).toMatchObject({ stdout: 'ended\n', sandbox: { profile: 'workspace-write' } })
    expect(readFileSync(join(cwd, 'new.txt'), 'utf8')).toBe('new\n')
    for (const path of ['old.txt', '.npmrc/x', '.git/hooks/post-checkout', 'moved'])
      expect([path, existsSync(join(cwd, path))]).toEqual([path, false])
    expect(readFileSync(join(cwd, '.git/config'), 'utf8')).not.toContain('[a]')
    expect([readFileSync(join(home, '.bashrc'), 'utf8'), readdirSync(outside)]).toEqual(['canary', ['a.txt']])
  })

  test('placeholders are in no list of files', async () => {
    const { cwd } = await confinedPlace()
    write(cwd, { 'a.txt': 'a', '.github/b.txt': 'b' })
    const context = createProcessContext({ cwd })
    const handle = await context.spawn()
    onTestFinished(() => context.destroy(handle))
    await context.exec(handle, 'true', { confinement: workspaceWrite })
    expect(readdirSync(cwd)).toContain('.vscode')
    expect(await context.listFiles(handle, '.')).toEqual(['.github/', 'a.txt'])
    expect(readdirSync(join(cwd, '.github'))).toContain('workflows')
    expect(await context.listFiles(handle, '.github')).toEqual(['b.txt'])
  })

  test('a folder with files whose names look like those in placeholders is listed', async () => {
    const { cwd } = await confinedPlace()
    const mark = 'held-by-libero-01234567-1-01234567'
    write(cwd, { '.a/held-by-libero-x': 'a', [`.b/${mark}/c`]: 'b', [`.c/${mark}`]: 'c' })
    mkdirSync(join(cwd, '.d', mark), { recursive: true })
    const context = createProcessContext({ cwd })
    const handle = await context.spawn()
    onTestFinished(() => context.destroy(handle))
    expect(await context.listFiles(handle, '.')).toEqual(['.a/', '.b/', '.c/'])
  })

  test('W02 a workspace that is reached by a link in a temporary folder serves one command after the other', async () => {
    const { top } = await confinedPlace()
    symlinkSync('workspace', join(top, 'link'))
    const { run } = await confinedPlace({ top, cwd: 'link' })
    for (let n = 0; n < 3; n++) expect(await run('pwd', workspaceWrite)).toMatchObject({ stdout: `${top}/link\n` })
  })

  test('W02 a workspace in the other temporary folder of the machine has its sandboxes', async () => {
    const cwd = mkdtempSync('/var/tmp/libero-workspace-')
    onTestFinished(() => rmSync(cwd, { recursive: true, force: true }))
    const context = createProcessContext({ cwd })
    const handle = await context.spawn()
    onTestFinished(() => context.destroy(handle))
    for (const profile of ['workspace-write', 'read-only'] as const) {
      const command = 'echo x >new.txt; echo y >/var/tmp/other; cat new.txt /var/tmp/other; ls /var/tmp | wc -l'
      const { stdout } = await context.exec(handle, command, { confinement: { ...workspaceWrite, profile } })
      expect([profile, stdout]).toEqual([profile, 'x\ny\n2\n'])
    }
    expect([readdirSync(cwd).includes('new.txt'), existsSync('/var/tmp/other')]).toEqual([true, false])
  })

  test('git commits in a repository, in a linked worktree and in a subfolder; settings and hooks of all stay', async () => {
    const { top, cwd, run } = await confinedPlace()
    write(cwd, { 'a.txt': 'one\n', 'sub/b.txt': 'two\n' })
    git(cwd, 'init', '-q')
    git(cwd, 'add', '-A')
    git(cwd, 'commit', '-qm', 'first')
    git(cwd, 'worktree', 'add', '-q', join(top, 'linked'))
    const commit = `set -e; echo x >>new.txt; git add -A; git -c user.name=n -c user.email=n@example.org commit -qm`
    const attack = 'git config core.editor evil; echo x >$(git rev-parse --git-common-dir)/hooks/pre-commit'
    for (const [place, runs] of [
      ['workspace', run],
      ['linked', (await confinedPlace({ top, cwd: 'linked' })).run],
      ['workspace/sub', (await confinedPlace({ top, cwd: 'workspace/sub' })).run],
    ] as const) {
      expect(await runs(`${commit} in-${place}`, workspaceWrite)).toMatchObject({ exitCode: 0 })
      expect(git(join(top, place), 'log', '-1', '--format=%s')).toBe(`in-${place}\n`)
      expect((await runs(attack, workspaceWrite)).exitCode).not.toBe(0)
    }
    expect(readFileSync(join(cwd, '.git/config'), 'utf8')).not.toContain('evil')
    expect(existsSync(join(cwd, '.git/hooks/pre-commit'))).toBe(false)
  })

  test('a repository keeps its settings and hooks however deep it lies; one in node_modules does not count', async () => {
    const { cwd, run } = await confinedPlace()
    const [deep, installed] = ['a/b/c/d/e/f', 'a/b/node_modules/p'].map((name) => join(cwd, name)) as [string, string]
    for (const folder of [deep, installed]) {
      write(folder, { 'a.txt': 'one' })
      git(folder, 'init', '-q')
    }
    const attack = (folder: string): string =>
      `git -C ${folder} config core.editor evil; echo x >${folder}/.git/hooks/pre-commit; mv ${folder}/.git moved; echo x >${folder}/a.txt`
    await run([deep, installed].map(attack).join('\n'), workspaceWrite)
    expect(readFileSync(join(deep, '.git/config'), 'utf8')).not.toContain('evil')
    expect([existsSync(join(deep, '.git/hooks/pre-commit')), existsSync(join(cwd, 'moved/config'))]).toEqual([
      false,
      true,
    ])
    expect(readFileSync(join(deep, 'a.txt'), 'utf8')).toBe('x\n')
  })

  const pipes: Readonly<Record<string, string>> = {
    'the configuration of a new repository': 'mkdir -p n/.git; mkfifo n/.git/config',
    'what a configuration includes': 'mkdir -p n/.git; mkfifo n/p; printf "[include]\\npath = ../p\\n" >n/.git/config',
    'the git file of a folder': 'mkdir n; mkfifo n/.git',
    'what a git file names': 'mkdir n m; echo "gitdir: ../m" >n/.git; mkfifo m/commondir',
    'an endless file': 'mkdir -p n/.git; ln -s /dev/zero n/.git/config',
  }
  for (const [name, command] of Object.entries(pipes))
    test(`a pipe or a device in place of a file of git is not waited for: ${name}`, async () => {
      const { run } = await confinedPlace()
      expect(await run(command, workspaceWrite)).toMatchObject({ exitCode: 0 })
      expect(await run('echo second', workspaceWrite)).toMatchObject({ stdout: 'second\n' })
      expect(await run('echo third')).toMatchObject({ stdout: 'third\n' })
    })

  test('a judged file outside can be written, its neighbours cannot', async () => {
    const { outside, run } = await confinedPlace()
    write(outside, { 'a.txt': 'old', 'b.txt': 'old' })
    const command = 'echo new >../outside/a.txt; echo new >../outside/b.txt; echo new >../outside/c.txt'
    await run(command, { ...workspaceWrite, writes: [join(outside, 'a.txt')] })
    const texts = ['a.txt', 'b.txt'].map((name) => readFileSync(join(outside, name), 'utf8'))
    expect([...texts, ...readdirSync(outside)]).toEqual(['new\n', 'old', 'a.txt', 'b.txt'])
  })

  test('a named host is reached through the proxy, with and without writing; another one is not', async () => {
    const { run } = await confinedPlace()
    const port = await server()
    const command = `curl -sS http://127.0.0.1:${port}/; curl -sS http://127.0.0.2:${port}/; touch new && rm new && echo wrote`
    const hosts = [`127.0.0.1:${port}`]
    const writing = await run(command, { ...workspaceWrite, hosts })
    expect(writing.stdout).toMatch(/^served\n.*did not connect.*\nwrote\n$/s)
    const reading = await run(command, { hosts })
    expect(reading).toMatchObject({ sandbox: { profile: 'read-only' }, exitCode: 1 })
    expect(reading.stdout).toMatch(/^served\n/)
    const any = await run(`unset http_proxy; ${command}`, { ...workspaceWrite, hosts: 'any' })
    expect(any.stdout).toBe('served\nwrote\n')
  })

  test('W01 a readable home shows no credentials, and only its caches can be written; stores that are linked elsewhere are empty', async () => {
    const { home, run } = await confinedPlace()
    write(home, {
      '.ssh/id': 'canary',
      '.npmrc': 'canary',
      'notes.txt': 'notes ',
      '.cache/old': '',
      '.cache/pip/old': '',
      '.cache/uv/old': '',
      '.local/share/pnpm/store/old': '',
      '.config/unheard-of/token': 'canary',
      '.config/unheard-of/tokens.md': 'for all ',
      '.config/unheard-of/settings': 'private ',
    })
    for (const name of ['token', 'settings']) chmodSync(join(home, '.config/unheard-of', name), 0o600)
    const command =
      'cat ~/notes.txt ~/.ssh/id ~/.npmrc ~/.config/unheard-of/*; echo x >~/.cache/pip/new; echo x >~/.cache/new; echo x >>~/.cache/old; echo x >~/.bashrc; echo x >~/notes.txt; ls -A ~/.cache; cd ~/.local/share/pnpm/store && touch new && ls; mkdir ~/.cache/uv'
    const { stdout } = await run(command, { ...workspaceWrite, home: 'readable', hosts: 'any' })
    expect(stdout).toBe('notes private for all new\nold\npip\nnew\n')
    const made = ['.cache/pip/new', '.cache/new', '.bashrc', '.local/share/pnpm/store/new'].map((name) =>
      existsSync(join(home, name)),
    )
    expect(made).toEqual([true, false, false, false])
    expect(readFileSync(join(home, '.cache/old'), 'utf8')).toBe('')
  })

  test('a token that is renewed in a hidden folder of a readable home ends no command', async () => {
    const { home, cwd, run } = await confinedPlace()
    write(home, { '.libero/credentials.json': 'canary', '.libero/new': 'canary' })
    for (const name of ['credentials.json', 'new']) chmodSync(join(home, '.libero', name), 0o600)
    const command =
      'echo x >started; for n in $(seq 400); do [ -e renewed ] && break; sleep 0.05; done; cat ~/.libero/*; echo ended'
    const running = run(command, { ...workspaceWrite, home: 'readable', hosts: 'any' })
    await vi.waitFor(() => expect(existsSync(join(cwd, 'started'))).toBe(true), 15_000)
    renameSync(join(home, '.libero/new'), join(home, '.libero/credentials.json'))
    write(cwd, { renewed: '' })
    expect(await running).toMatchObject({ stdout: 'ended\n', exitCode: 0 })
  })
})

describe.skipIf(unavailable)(`one command after another${skipped}`, () => {
  test('what was hidden from a command that saw the home folder does not shut out what the next one is shown', async () => {
    const { home, run } = await confinedPlace()
    write(home, { 'own/key': 'canary', 'own/programs/hello.sh': 'echo hello' })
    const seeing = { ...workspaceWrite, home: 'readable', hidden: [join(home, 'own')] } as const
    expect((await run('ls -A ~; cat ~/own/key', seeing)).stdout).not.toContain('canary')
    const programs = join(home, 'own/programs')
    const { stdout } = await run(`sh ${programs}/hello.sh; cat ${home}/own/key`, {
      ...workspaceWrite,
      reads: [programs],
    })
    expect(stdout).toBe('hello\n')
    expect((await run(`cat ${home}/own/key`, { ...workspaceWrite, home: 'readable' })).stdout).toBe('')
  })
})

async function server(): Promise<number> {
  const http = createServer((_, answer) => answer.end('served\n'))
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void http.close())
  const address = http.address()
  return typeof address === 'object' && address !== null ? address.port : 0
}
