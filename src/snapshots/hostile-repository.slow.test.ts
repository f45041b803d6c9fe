import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { createProcessContext } from '../execution/process.ts'
import { createFileSnapshots, type FileSnapshots } from './file-snapshots.ts'
import type { Snapshot } from './snapshot.ts'

const made: string[] = []
afterEach(() => {
  for (const folder of made.splice(0)) rmSync(folder, { recursive: true, force: true })
})

/** Whatever git may run because of a repository's settings; `@EVIL` notes that it ran. */
const everyProgram = `
evil=@EVIL
printf '#!/bin/sh\\ntouch "$0.ran"; cat\\n' > $evil; chmod +x $evil
printf '* filter=evil diff=evil merge=evil\\n' > .gitattributes
mkdir -p hooks
for hook in post-index-change reference-transaction pre-commit post-checkout pre-auto-gc fsmonitor-watchman; do cp $evil hooks/$hook; done
cat > more <<end
[core]
	fsmonitor = $evil
	hooksPath = $PWD/hooks
	sshCommand = $evil
	gitProxy = $evil
	pager = $evil
	editor = $evil
	askPass = $evil
	alternateRefsCommand = $evil
[pager]
	ls-files = true
	rev-parse = true
	check-ignore = true
[alias]
	ls-files = !$evil
	rev-parse = !$evil
[filter "evil"]
	clean = $evil
	smudge = $evil
	process = $evil
	required = true
[diff]
	external = $evil
[diff "evil"]
	command = $evil
	textconv = $evil
[merge "evil"]
	driver = $evil
[credential]
	helper = !$evil
[gpg]
	program = $evil
[commit]
	gpgSign = true
[gc]
	recentObjectsHook = $evil
	auto = 1
[uploadpack]
	packObjectsHook = $evil
[protocol]
	allow = always
[protocol "ext"]
	allow = always
end
git config include.path "$PWD/more"
`

/** The blob of `.gitignore` is missing and the file too, so that git fetches it, by a program that is named for that. */
const missingObject = (url: string): string => `
blob=$(git rev-parse :.gitignore)
git update-index --skip-worktree .gitignore
rm .gitignore .git/objects/$(echo $blob | cut -c1-2)/$(echo $blob | cut -c3-)
git config core.repositoryformatversion 1
git config extensions.partialClone origin
git config remote.origin.promisor true
git config remote.origin.url "${url}"
git config remote.origin.uploadpack @EVIL
`

/** The git folder becomes the folder itself. */
const bareAtTop = 'git config core.worktree "$PWD"; mv .git/* .; rm -rf .git'

const read = 'git ls-files --cached --ignored --exclude-standard'

test.each([
  ['a local remote', missingObject('$PWD'), read],
  ['a remote over ssh', `${missingObject('ssh://localhost/x')}git config core.sshCommand @EVIL`, read],
  ['a remote by a program', `${missingObject('ext::@EVIL')}git config protocol.ext.allow always`, read],
  ['a bare repository', `${missingObject('$PWD')}${bareAtTop}`, read],
])('CK13 a snapshot runs nothing to fetch what a repository lacks, not from %s', async (_, script, proof) => {
  const { files, run, hasRun } = await open()
  run(`${writeEvil}${script}`)
  run('echo more > more.txt')
  for (let i = 0; i < 2; i++) await files.take({ owner: 'test' })
  expect(hasRun()).toBe(false)
  run(`${proof} || :`)
  expect(hasRun()).toBe(true)
})

test('CK13 a snapshot runs no program of a repository, however the repository names it', async () => {
  const { files, run, hasRun } = await open()
  const before = await taken(files)
  run(`${everyProgram}rm -f @EVIL.ran`)
  await exercise({ files, run, before })
  expect(hasRun()).toBe(false)
  run('git status || :')
  expect(hasRun()).toBe(true)
})

/** A pipe in place of the settings: a process that opens it waits until the time is up. */
test.each(['.', 'sub'])(
  'CK13 no git process of a snapshot reads the settings of a repository, not in %s',
  async (folder) => {
    const { files, run } = await open(folder, { timeoutMs: 20_000 })
    run('cd "$(git rev-parse --show-toplevel)"; rm .git/config; mkfifo .git/config; echo changed > a.txt')
    const before = await taken(files)
    run('echo more > more.txt')
    const { undo } = await files.rollback([{ before, after: await taken(files) }], { owner: 'test' })
    expect(undo.before.tree).not.toBe(before.tree)
  },
)

test('CK13 a snapshot of an ignored folder runs no program of the repository around it', async () => {
  const { files, run, hasRun } = await open('build')
  run(`cd ..; ${everyProgram}rm -f @EVIL.ran`)
  const before = await taken(files)
  await exercise({ files, run, before })
  expect(hasRun()).toBe(false)
})

test('CK13 a repository that took the place of a file between two looks runs nothing', async () => {
  const { files, run, hasRun, store } = await open()
  await taken(files)
  const own = join(store, readdirSync(store)[0]!)
  run(`mkdir n; cd n; git init -q .; echo 1 > a; git add a; ${who} git commit -qm n; ${everyProgram}rm -f @EVIL.ran`)
  run(`id=$(git -C n rev-parse HEAD)
export GIT_DIR='${own}' GIT_INDEX_FILE='${own}/index'
git update-index --add --cacheinfo 160000,$id,n; : > '${own}/last'`)
  const before = await taken(files)
  await exercise({ files, run, before })
  expect(hasRun()).toBe(false)
})

interface Exercise {
  readonly files: FileSnapshots
  readonly before: Snapshot
  run(script: string): void
}

/** Uses every command of snapshots. */
async function exercise({ files, run, before }: Exercise): Promise<void> {
  run('echo changed > a.txt; echo new > b.log; mkdir -p c; echo d > c/d')
  const work = [{ before, after: await taken(files) }]
  await files.changes(work)
  await files.diff(work, { path: 'a.txt', mostBytes: 1000 })
  const { undo } = await files.rollback(work, { owner: 'test' })
  await files.rollback([undo], { owner: 'test' })
  await files.take({ owner: 'test', tidy: true })
}

async function taken(files: FileSnapshots): Promise<Snapshot> {
  const snapshot = await files.take({ owner: 'test' })
  if ('unavailable' in snapshot) throw new Error(snapshot.unavailable)
  return snapshot
}

const who = 'GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a'
const writeEvil = `printf '#!/bin/sh\\ntouch "$0.ran"\\nexit 1\\n' > @EVIL; chmod +x @EVIL\n`

/** A repository, and snapshots of a folder in it. */
async function open(folder = '.', options: { timeoutMs?: number } = {}) {
  const scratch = mkdtempSync(join(tmpdir(), 'libero-hostile-'))
  made.push(scratch)
  const evil = join(scratch, 'evil')
  const root = join(scratch, 'repo')
  const cwd = join(root, folder)
  mkdirSync(cwd, { recursive: true })
  const run = (script: string): void => {
    const env = { PATH: process.env.PATH, HOME: scratch, GIT_CONFIG_NOSYSTEM: '1' }
    execFileSync('/bin/bash', ['-c', script.replaceAll('@EVIL', evil)], { cwd, env, stdio: 'pipe' })
  }
  run(`cd '${root}'; git init -q -b main .; printf 'b.log\\nbuild\\n' > .gitignore; echo a > a.txt; echo b > b.log
git add -f .; ${who} git commit -qm one`)
  const execution = createProcessContext({ cwd, env: { HOME: scratch, GIT_CONFIG_NOSYSTEM: '1' } })
  const store = join(scratch, 'store')
  const files = createFileSnapshots({ ...options, execution, handle: await execution.spawn(), store })
  return { files, run, store, hasRun: () => existsSync(`${evil}.ran`) }
}
