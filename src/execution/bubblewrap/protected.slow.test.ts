import { spawnSync } from 'node:child_process'
import {
  appendFileSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect } from 'vitest'
import { begun, emptyFolder, place, skipped, unavailable } from '../../../test/bubblewrap-kit.ts'
import { testInTurns } from '../../../test/soak.ts'
import { protectedInGit, protectedNames } from './protected-paths.ts'

const test = testInTurns(2)

const all = [...protectedNames, ...protectedInGit.map((name) => `.git/${name}`), '.yarnrc.yml', '.git/commondir']
const isFolder =
  /hooks|modules|remotes|branches|workflows|actions|\.(husky|libero|agents|claude|codex|gemini|vscode|idea|cursor|zed|fleet|devcontainer|circleci|buildkite|forgejo|gitea|pip|cargo)$/

/** Many ways to change what is at a path; all are tried. */
const attempts = (path: string): string => `
  p='${path}'; d=$(dirname "$p")
  mkdir -p "$d"; echo evil > "$p"; echo evil >> "$p"; mkdir -p "$p"; echo evil > "$p/evil"
  echo evil > staged; mv -f staged "$p"; rm -rf "$p"; ln -sfn /etc "$p"; echo evil > "$p"; cp staged "$p"
  [ "$d" = . ] || { mv "$d" moved; mkdir -p "$d"; echo evil > "$p"; rm -rf "$d"; mkdir -p "$d"; echo evil > "$p"; }
  chmod -R 777 "$p"; mkdir -p "$p"; echo evil > "$p/evil"; rm -rf staged moved; true`

describe.skipIf(unavailable)(`protected paths${skipped}`, () => {
  test('FS-11 none of those that are missing comes into being, and no placeholder stays behind', async () => {
    const { cwd, run, context, handle } = await place()
    await run(all.map(attempts).join('\n'))
    expect(evilIn(cwd)).toEqual([])
    for (const path of ['.npmrc', '.vscode/tasks.json', '.git/hooks/pre-commit', '.github/workflows/ci.yml', '.bashrc'])
      await expect(context.writeFile(handle, path, 'evil')).rejects.toMatchObject({ code: 'EOUTSIDE' })
    expect((await context.listFiles(handle, '.')).every(isAside)).toBe(true)
    await context.destroy(handle)
    expect(readdirSync(cwd).every(isAside)).toBe(true)
  })

  test('FS-11 the same in a repository without hooks, workflows and the like', async () => {
    const { cwd, run, context, handle } = await place({ cwd: repository() })
    mkdirSync(join(cwd, '.github'))
    const config = readFileSync(join(cwd, '.git/config'), 'utf8')
    const paths = ['.git/hooks/pre-commit', '.git/modules/x', '.git/info/attributes', '.github/workflows/ci.yml']
    await run(paths.map(attempts).join('\n'))
    expect(evilIn(cwd)).toEqual([])
    await context.destroy(handle)
    expect(readdirSync(join(cwd, '.github'))).toEqual([])
    expect(readdirSync(join(cwd, '.git'))).not.toContain('hooks')
    expect(readFileSync(join(cwd, '.git/config'), 'utf8')).toBe(config)
  })

  test('FS-10 those that are there can be read but not changed', async () => {
    const cwd = repository()
    for (const path of all) {
      mkdirSync(dirname(join(cwd, path)), { recursive: true })
      if (isFolder.test(path)) mkdirSync(join(cwd, path), { recursive: true })
      if (path !== '.git/config')
        writeFileSync(join(cwd, path, isFolder.test(path) ? 'kept' : ''), path.endsWith('commondir') ? '.' : 'kept')
    }
    const before = all.map((path) => treeOf(join(cwd, path)))
    const { run, context, handle } = await place({ cwd })
    expect((await run('cat .npmrc .vscode/kept .git/hooks/kept; git status --short | wc -l')).stdout).toMatch(
      /^keptkeptkept\d+\n$/,
    )
    await run(all.map(attempts).join('\n'))
    for (const path of [
      '.npmrc',
      '.vscode/kept',
      '.git/config',
      '.git/hooks/kept',
      '.github/workflows/kept',
      '.yarnrc.yml',
    ])
      await expect(context.writeFile(handle, path, 'evil')).rejects.toMatchObject({ code: 'EOUTSIDE' })
    await context.destroy(handle)
    expect(all.map((path) => treeOf(join(cwd, path)))).toEqual(before)
  })

  test('what cannot be kept from being made is set aside, as a person may have made it, and said', async () => {
    const cwd = repository()
    const { run } = await place({ cwd })
    const { stderr } = await run('echo "yarnPath: evil.js" > .yarnrc.yml')
    expect(stderr).toContain('.yarnrc.yml was created and taken away again')
    expect(readdirSync(cwd)).not.toContain('.yarnrc.yml')
    const [, aside = ''] = /what was put there is in (.*)/.exec(stderr) ?? []
    expect(readFileSync(aside, 'utf8')).toBe('yarnPath: evil.js\n')
    const { stderr: other } = await run('mkdir -p .git/config.worktree/x')
    expect(other).toContain('.git/config.worktree was created and taken away again')
    expect(readdirSync(join(cwd, '.git'))).not.toContain('config.worktree')
    let heard = ''
    await run('echo evil > .yarnrc.yml; sleep 100', {
      timeout: 2500,
      onOutput: (text, from) => void (heard += `${from} ${text}`),
    })
    expect(heard).toContain('stderr [sandbox]')
    expect(readdirSync(cwd)).not.toContain('.yarnrc.yml')
  })

  test('git works inside, and does not see what stands in for missing files', async () => {
    const cwd = repository()
    const { run } = await place({ cwd })
    const commit =
      'echo new > new.txt && git status --short && git add -A && git commit -qm two && git show --stat --format=%s'
    const { stdout, exitCode, stderr } = await run(commit)
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' })
    expect(stdout).toBe('?? new.txt\ntwo\n\n new.txt | 1 +\n 1 file changed, 1 insertion(+)\n')
    expect((await run('git config core.fsmonitor evil')).exitCode).not.toBe(0)
    expect((await run('git checkout -qb other && git branch')).stdout).toContain('* other')
    expect(git(cwd, 'status', '--short')).toBe('')
  })

  test('the folder that the config names for hooks is protected, and so is a repository further inside', async () => {
    const cwd = repository()
    git(cwd, 'config', 'core.hooksPath', 'tools/hooks')
    mkdirSync(join(cwd, 'tools/hooks'), { recursive: true })
    mkdirSync(join(cwd, 'packages/inner'), { recursive: true })
    git(join(cwd, 'packages/inner'), 'init', '-q')
    const kept = ['tools', 'packages/inner/.git/config', 'packages/inner/.git/hooks']
    const before = kept.map((path) => treeOf(join(cwd, path)))
    const { run, context, handle } = await place({ cwd })
    for (const path of ['tools/hooks/pre-commit', 'packages/inner/.git/config', 'packages/inner/.git/hooks/pre-commit'])
      await run(attempts(path))
    await run('mv packages p; mkdir -p packages/inner/.git; echo evil > packages/inner/.git/config')
    await context.destroy(handle)
    expect(kept.map((path) => treeOf(join(cwd, path)))).toEqual(before)
    expect(evilIn(cwd)).toEqual([])
  })

  test('a link in place of something protected is put back, and what it leads to is kept', async () => {
    const cwd = emptyFolder()
    mkdirSync(join(cwd, 'real/agents'), { recursive: true })
    writeFileSync(join(cwd, 'real/agents/kept'), 'kept')
    symlinkSync('real/agents', join(cwd, '.claude'))
    const { run } = await place({ cwd })
    expect(await run('cat .claude/kept; touch ran')).toMatchObject({ stdout: 'kept', exitCode: 0 })
    const command = 'echo evil > .claude/kept; mv real r; rm .claude; mkdir .claude; echo evil > .claude/x'
    expect((await run(command)).stderr).toContain('.claude was changed and restored as the link it was')
    expect(readlinkSync(join(cwd, '.claude'))).toBe('real/agents')
    expect(readFileSync(join(cwd, 'real/agents/kept'), 'utf8')).toBe('kept')
    expect(evilIn(cwd)).toEqual([])
    const named = await place({ cwd, roots: [cwd, join(cwd, '.claude')] })
    expect((await named.run('echo fine > .claude/kept')).exitCode).toBe(0)
  })

  test('taking away does not fail over links among the worktrees, and later commands run', async () => {
    const cwd = repository()
    const { run } = await place({ cwd })
    const command = 'mkdir -p .git/worktrees/e; ln -s x .git/worktrees/e/commondir; echo evil > .git/commondir'
    expect((await run(command)).stderr).toContain('.git/commondir was created and taken away again')
    expect(evilIn(cwd)).toEqual([])
    expect(readdirSync(join(cwd, '.git/worktrees/e'))).toEqual([])
    expect((await run('echo fine')).stdout).toBe('fine\n')
  })

  test('what one command makes is taken away although another one began when it was there', async () => {
    const cwd = repository()
    const { run } = await place({ cwd })
    const first = run('touch .yarnrc.yml; touch begun; sleep 0.7; rm .yarnrc.yml')
    await begun(cwd)
    const second = run('touch begun2; sleep 1.2; rm -f .yarnrc.yml; echo evil > .yarnrc.yml')
    await Promise.all([first, second])
    expect(readdirSync(cwd)).not.toContain('.yarnrc.yml')
  })

  test('what the user makes between commands stays', async () => {
    const cwd = repository()
    const { run } = await place({ cwd })
    await run('true')
    writeFileSync(join(cwd, '.yarnrc.yml'), 'mine')
    expect((await run('echo evil > .yarnrc.yml; cat .yarnrc.yml')).stdout).toBe('mine')
    expect(readFileSync(join(cwd, '.yarnrc.yml'), 'utf8')).toBe('mine')
  })

  test('folders of hooks that are missing and files of config that are included are protected', async () => {
    const cwd = repository()
    const more =
      '[core] hooksPath = .myhooks # c\n[include] path = ../more\n[includeIf "gitdir:x"]\npath=../conf/later\n'
    appendFileSync(join(cwd, '.git/config'), more)
    writeFileSync(join(cwd, 'more'), '[core]\nhooksPath = "conf/hooks" ; c')
    mkdirSync(join(cwd, 'conf/other'), { recursive: true })
    const { run, context, handle } = await place({ cwd })
    for (const path of ['.myhooks/pre-commit', 'conf/hooks/pre-commit', 'conf/later']) await run(attempts(path))
    await run('echo evil > more; mv more m; mkdir -p conf/other')
    expect((await run('git status --short')).stderr).toBe('')
    const deleting = '[include]\\npath = ../one.txt\\npath = ../.git/HEAD\\n'
    expect((await run(`printf '${deleting}' > conf/later`)).stderr).toContain('conf/later was created and taken away')
    expect(readdirSync(cwd)).toContain('one.txt')
    expect(readdirSync(join(cwd, '.git'))).toContain('HEAD')
    expect(evilIn(cwd)).toEqual([])
    expect(await context.listFiles(handle, '.')).not.toContain('.myhooks/')
    await context.destroy(handle)
    expect(readFileSync(join(cwd, 'more'), 'utf8')).toContain('hooks')
    expect(readdirSync(cwd)).not.toContain('.myhooks')
  })

  test('a repository that a command made is protected from the next one on', async () => {
    const { cwd, run } = await place()
    await run('mkdir -p a/inner && cd a/inner && git init -q')
    await run(attempts('a/inner/.git/hooks/pre-commit'))
    await run('echo evil >> a/inner/.git/config; mv a b')
    expect(evilIn(cwd)).toEqual([])
    expect(readdirSync(join(cwd, 'a/inner/.git'))).toContain('config')
  })

  test('what is named as a root itself may be written', async () => {
    const cwd = emptyFolder()
    mkdirSync(join(cwd, '.vscode'))
    const { run } = await place({ cwd, roots: [cwd, join(cwd, '.vscode'), join(cwd, '.npmrc')] })
    expect((await run('echo fine > .vscode/settings.json; echo fine > .npmrc; echo evil > .envrc')).exitCode).toBe(1)
    expect(readFileSync(join(cwd, '.vscode/settings.json'), 'utf8')).toBe('fine\n')
    expect(readFileSync(join(cwd, '.npmrc'), 'utf8')).toBe('fine\n')
    expect((await run('cat .npmrc; echo more >> .npmrc')).stdout).toBe('fine\n')
  })

  test('what is named as read-only may not be written, although it lies in a root', async () => {
    const cwd = emptyFolder()
    mkdirSync(join(cwd, 'vendor'))
    const { run } = await place({ cwd, readOnly: [join(cwd, 'vendor')] })
    expect((await run('echo x > vendor/x')).stderr).toMatch(/Read-only/)
    expect((await run('echo x > other')).exitCode).toBe(0)
  })

  test('while one command runs and another ends, nothing comes into being', async () => {
    const one = await place()
    const other = await place({ cwd: one.cwd })
    const long = one.run(
      'touch begun; sleep 1.5; mkdir .vscode; echo evil > .vscode/tasks.json; echo evil > .npmrc; ls .vscode',
    )
    await begun(one.cwd)
    await other.run('true')
    await other.context.destroy(other.handle)
    expect(await long).toMatchObject({ stdout: '' })
    expect(evilIn(one.cwd)).toEqual([])
    await one.context.destroy(one.handle)
    expect(readdirSync(one.cwd)).toEqual(['begun'])
  })
})

function repository(): string {
  const cwd = emptyFolder()
  git(cwd, 'init', '-q', '-b', 'main', '--template=')
  git(cwd, 'config', 'user.email', 'a@b.test')
  git(cwd, 'config', 'user.name', 'A')
  writeFileSync(join(cwd, 'one.txt'), 'one')
  git(cwd, 'add', '.')
  git(cwd, 'commit', '-qm', 'one')
  mkdirSync(join(cwd, '.git/info'))
  return cwd
}

function git(cwd: string, ...args: string[]): string {
  const env = { PATH: process.env.PATH, HOME: cwd, GIT_CONFIG_NOSYSTEM: '1' }
  return spawnSync('git', args, { cwd, env, encoding: 'utf8' }).stdout
}

/** What could not be kept from being made is kept under another name, which no program obeys. */
const notAside = ['--exclude=*.replaced-*', '--exclude-dir=*.replaced-*']
const isAside = (name: string): boolean => name.includes('.replaced-')

function evilIn(folder: string): string[] {
  return spawnSync('grep', ['-rlx', 'evil', ...notAside, folder], { encoding: 'utf8' })
    .stdout.split('\n')
    .filter(Boolean)
}

/** Every path below, with what is in it; or what is in a file. */
function treeOf(folder: string): Record<string, string> | string {
  if (!lstatSync(folder).isDirectory()) return readFileSync(folder, 'latin1')
  const tree: Record<string, string> = {}
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort()) {
    const path = join(folder, name)
    const found = lstatSync(path)
    tree[name] = found.isFile() ? readFileSync(path, 'latin1') : found.isDirectory() ? 'folder' : 'other'
  }
  return tree
}
