import { execFileSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, expect, test } from 'vitest'
import { plainConfinement } from '../../test/sandbox/harness.ts'
import { sampleOf, testInTurns } from '../../test/soak.ts'
import type { ExecutionContext } from '../core/execution.ts'
import { createProcessContext } from '../execution/process.ts'
import { findEnclosure } from '../platform/enclosure.ts'
import { createFileSnapshots, type FileSnapshots } from './file-snapshots.ts'
import type { Snapshot } from './snapshot.ts'

// What a command in a sandbox does that goes on in the background, at the worst moment: it changes folders for links. Each has its
// effect where there is no enclosure, or it would prove nothing.
const enclosure = await findEnclosure()
const attack = enclosure ? testInTurns(3) : test.skip

const ends: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

attack('the folder of staged files becomes a link: nothing is moved out of the place it leads to', async () => {
  const effect = async (isEnclosed: boolean) => {
    const scene = await openScene(isEnclosed, { id_rsa: 'decoy' })
    const [key] = scene.outside({ '.ssh/id_rsa': 'KEY' })
    scene.beforeScript('looked=', () => swap(scene.path(scene.stage()), '../.ssh'))
    await scene.rollBack('rm id_rsa').catch(() => {})
    return { key: textAt(key!), found: textAt(scene.path('id_rsa')) }
  }
  expect(await effect(false)).toEqual({ key: undefined, found: 'KEY' })
  expect(await effect(true)).toEqual({ key: 'KEY', found: undefined })
})

attack(
  'the folder of staged files becomes a link before they are written: nothing is written where it leads to',
  async () => {
    const effect = async (isEnclosed: boolean) => {
      const scene = await openScene(isEnclosed, { 'evil.fish': 'touch CANARY' })
      const [folder] = scene.outside({ 'conf.d/own.fish': '' }).map(dirname)
      let seen: readonly string[] | undefined
      scene.insert('ours update-index --index-info\n', 'mv "$stage" mine; ln -s ../conf.d "$stage"; ')
      scene.beforeScript('looked=', () => (seen = readdirSync(folder!)))
      await scene.rollBack('rm evil.fish').catch(() => {})
      return seen ?? readdirSync(folder!)
    }
    expect(await effect(false)).toEqual(['evil.fish', 'own.fish'])
    expect(await effect(true)).toEqual(['own.fish'])
  },
)

attack('a folder becomes a link before a file is moved into it: no file outside is overwritten', async () => {
  const effect = async (isEnclosed: boolean) => {
    const scene = await openScene(isEnclosed, { 'd/.bashrc': 'touch CANARY' })
    const [file] = scene.outside({ '.bashrc': 'own' })
    scene.insert('mv -f "$new" "$path"', 'mv d mine; ln -s .. d; ')
    await scene.rollBack('echo changed >d/.bashrc').catch(() => {})
    return textAt(file!)
  }
  expect(await effect(false)).toBe('touch CANARY')
  expect(await effect(true)).toBe('own')
})

attack('a folder becomes a link to one that commands must not write: no hook of git is written', async () => {
  const effect = async (isEnclosed: boolean) => {
    const scene = await openScene(isEnclosed, { 'd/pre-commit': 'touch CANARY' })
    execFileSync('git', ['init', '-q', '.'], { cwd: scene.path('.'), env: scene.env })
    scene.insert('mv -f "$new" "$path"', 'mv d mine; ln -s .git/hooks d; ')
    await scene.rollBack('echo changed >d/pre-commit').catch(() => {})
    return textAt(scene.path('.git/hooks/pre-commit'))
  }
  expect(await effect(false)).toBe('touch CANARY')
  expect(await effect(true)).toBeUndefined()
})

attack('a folder becomes a link while its files are read: no content from outside gets into a snapshot', async () => {
  const effect = async (isEnclosed: boolean) => {
    const scene = await openScene(isEnclosed, { 'd/a': '1', 'd/b': '1' })
    scene.outside({ 'out/a': 'CANARY', 'out/b': 'CANARY' })
    // Git remembers that the folder of the first file is none that a link leads to.
    const names = '"$1.given"'
    const update = 'atTop update-index --add --remove --replace --stdin'
    const wait = 'until [ -e swapped ]; do sleep 0.05; done'
    scene.replace(`${update} <${names}`, `{ sed 1q ${names}; ${wait}; sed 1d ${names}; } | ${update}`)
    scene.run('echo changed >d/a; echo changed >d/b')
    const taking = scene.files.take({ owner: 'test' })
    await sleep(1500)
    swap(scene.path('d'), '../out')
    writeFileSync(scene.path('swapped'), '')
    await taking
    return scene.stored().includes('CANARY')
  }
  expect(await effect(false)).toBe(true)
  expect(await effect(true)).toBe(false)
})

attack('a link cannot lead to the store, whose settings name programs', async () => {
  const effect = async (isEnclosed: boolean) => {
    const scene = await openScene(isEnclosed, { 'd/config': 'CANARY' })
    scene.insert('mv -f "$new" "$path"', `mv d mine; ln -s ${scene.store()} d; `)
    await scene.rollBack('echo changed >d/config').catch(() => {})
    return textAt(join(scene.store(), 'config'))?.includes('CANARY')
  }
  expect(await effect(false)).toBe(true)
  expect(await effect(true)).toBe(false)
})

attack(
  'a command in a sandbox that waits for the staged files and changes their folder for a link gets nothing',
  async () => {
    const scene = await openScene(true, { id_rsa: 'decoy' })
    const [key] = scene.outside({ '.ssh/id_rsa': 'KEY' })
    const job = scene.confined(`echo ready >ready
n=0
while [ $n -lt 200000 ]; do
  n=$((n + 1))
  for one in .libero-rollback.*; do
    if [ -e "$one/id_rsa" ]; then mv "$one" mine; ln -s ../.ssh "$one"; echo swapped; exit; fi
  done
done`)
    while (!existsSync(scene.path('ready'))) await sleep(20)
    await scene.rollBack('rm id_rsa').catch(() => {})
    const { stdout } = await job
    expect([stdout, textAt(key!)]).toEqual(['swapped\n', 'KEY'])
    expect(textAt(scene.path('id_rsa'))).not.toBe('KEY')
  },
)

attack('the folder itself becomes a link: nothing is read or written where it leads to', async () => {
  for (const moment of ['before a script', 'before it is mounted']) {
    const scene = await openScene(true, { authorized_keys: 'CANARY' })
    const [known] = scene.outside({ '.ssh/known_hosts': 'known' })
    scene.run('rm authorized_keys')
    const after = (await scene.files.take({ owner: 'test' })) as Snapshot
    if (moment === 'before a script') swap(scene.path('.'), '.ssh')
    else scene.insert('exec "$@" --remount-ro', 'mv "$folder" "$folder.mine"; ln -s .ssh "$folder"; ')
    const work = [{ before: scene.before, after }]
    await expect(scene.files.rollback(work, { owner: 'test' })).rejects.toThrow(/link now|another folder/)
    expect([moment, readdirSync(dirname(known!))]).toEqual([moment, ['known_hosts']])
  }
})

attack('where the enclosure cannot be built any more, no script runs without it', async () => {
  const scene = await openScene(true, { a: '1' })
  scene.replace("'--unshare-net'", '--unshare-nothing')
  scene.run('echo 2 >a')
  expect(await scene.files.take({ owner: 'test' })).toEqual({
    unavailable: expect.stringMatching(
      /could not be built, and nothing was done: bwrap: .*unshare-nothing.*libero doctor/s,
    ),
  })
})

attack(
  'in an enclosure the same files are ignored as outside, by rules of the repository and of the person',
  async () => {
    const scene = await openScene(true, { 'proj/a': '1' })
    scene.outside({ 'my "rules"': '*.mine\n', 'more/rules': '*.more\n' })
    const name = 'git config --global user.email a; git config --global user.name a'
    scene.run(`${name}; git config --global core.excludesFile '~/my "rules"'
cd proj; git init -q; printf '*.own\\n' >.gitignore; printf '*.info\\n' >.git/info/exclude; mkdir -p sub/deep
for f in mine more own info kept; do for d in . sub sub/deep; do echo 1 >$d/x.$f; done; done
echo 1 >tracked.own; git add -f tracked.own sub/x.own; git add .; git commit -qm 1; git worktree add -q ../tree
git init -q ../above; cd ../above; git -c protocol.file.allow=always submodule --quiet add ../proj module; echo 1 >module/new.info`)
    const settings = [
      ':',
      `git config --global --unset core.excludesFile; git config --global include.path '~/included'; git config -f ~/included core.excludesFile '~/more/rules'`,
      `git config -f ~/included core.excludesFile '~/my "rules"'`,
      `rm ~/.gitconfig; mkdir -p ~/.config/git; echo '*.kept' >~/.config/git/ignore`,
      'mv proj/.git ../git; ln -s ../../git proj/.git',
    ]
    const folders = ['proj', 'proj/sub', 'proj/sub/deep', 'tree/sub', 'above', 'above/module']
    for (const line of settings) {
      scene.run(line)
      for (const folder of sampleOf(folders, 1)) {
        const [enclosed, plain] = await scene.both(folder)
        expect([line, folder, enclosed]).toEqual([line, folder, plain])
        expect(enclosed).toMatch(/^[0-9a-f]{40}$/)
      }
    }
  },
)

/** A home folder with a workspace in it, and snapshots of that. */
async function openScene(isEnclosed: boolean, files: Readonly<Record<string, string>>) {
  const home = mkdtempSync(join(tmpdir(), 'libero-links-'))
  ends.push(() => rmSync(home, { recursive: true, force: true }))
  const cwd = join(home, 'work')
  const write = (folder: string, texts: Readonly<Record<string, string>>): string[] =>
    Object.entries(texts).map(([name, text]) => {
      const path = join(folder, name)
      mkdirSync(dirname(path), { recursive: true })
      writeFileSync(path, text)
      return path
    })
  write(cwd, files)
  const env = { HOME: home, PATH: process.env.PATH ?? '' }
  const execution = createProcessContext({ cwd, env: { HOME: home } })
  const handle = await execution.spawn()
  ends.push(() => execution.destroy(handle))
  const changes: ((script: string) => string)[] = []
  const attacked: Pick<ExecutionContext, 'exec'> & { type?: string } = {
    ...(isEnclosed && { type: execution.type }),
    exec: (of, script, options) =>
      execution.exec(
        of,
        changes.reduce((text, change) => change(text), script),
        options,
      ),
  }
  const snapshots: FileSnapshots = createFileSnapshots({ execution: attacked, handle, store: join(home, 'store') })
  const before = await snapshots.take({ owner: 'test' })
  const run = (line: string): void => void execFileSync('sh', ['-c', line], { cwd, env })
  return {
    files: snapshots,
    before: before as Snapshot,
    run,
    env,
    confined: (line: string) =>
      execution.exec(handle, line, { timeout: 30_000, confinement: plainConfinement('workspace-write', cwd) }),
    path: (name: string): string => join(cwd, name),
    outside: (texts: Readonly<Record<string, string>>): string[] => write(home, texts),
    /** The trees of a folder in the workspace, with and without an enclosure. */
    both: (folder: string): Promise<readonly string[]> =>
      Promise.all(
        [execution.type, undefined].map(async (type) => {
          const of = { ...(type !== undefined && { type }), exec: execution.exec }
          const files = createFileSnapshots({
            ...{ execution: of, handle, folder: join(cwd, folder), store: join(home, `store-${type}`) },
          })
          const snapshot = await files.take({ owner: 'test' })
          return 'unavailable' in snapshot ? snapshot.unavailable : snapshot.tree
        }),
      ),
    stage: (): string => readdirSync(cwd).find((name) => name.startsWith('.libero-rollback.'))!,
    store: (): string => join(home, 'store', readdirSync(join(home, 'store'))[0]!),
    /** The content of all objects. */
    stored(): string {
      const own = { ...env, GIT_DIR: this.store() }
      return execFileSync('git', ['cat-file', '--batch-all-objects', '--batch'], { env: own, encoding: 'latin1' })
    },
    beforeScript(with_: string, work: () => void): void {
      changes.push((script) => {
        if (script.includes(with_)) work()
        return script
      })
    },
    replace: (text: string, by: string): void => void changes.push((script) => script.replace(text, () => by)),
    insert(before: string, line: string): void {
      this.replace(before, `${line}${before}`)
    },
    /** Takes back what a line does. */
    async rollBack(line: string): Promise<void> {
      run(line)
      const after = await snapshots.take({ owner: 'test' })
      await snapshots.rollback([{ before: this.before, after: after as Snapshot }], { owner: 'test' })
    },
  }
}

function swap(folder: string, target: string): void {
  renameSync(folder, `${folder}.mine`)
  symlinkSync(target, folder)
}

const textAt = (path: string): string | undefined => (existsSync(path) ? readFileSync(path, 'utf8') : undefined)
