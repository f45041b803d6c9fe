import { spawn, spawnSync } from 'node:child_process'
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  rmSync,
  statSync,
} from 'node:fs'
import { mkdir, readFile, symlink, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { afterAll, beforeEach, describe, expect } from 'vitest'
import { testInTurns } from '../../../test/soak.ts'
import { installCommand } from '../../../test/system-programs.ts'
import type { ExecResult } from '../../core/execution.ts'
import { type ShellFiles, shellFiles } from './shell-files.ts'

// Each of them runs many commands, in every world.
const test = testInTurns(3)

const scratch = realpathSync(mkdtempSync(join(tmpdir(), 'libero-shell-files-')))
afterAll(() => rmSync(scratch, { recursive: true, force: true }))

const busybox = programs('busybox')
const worlds: Record<string, World | string> = {
  'the shell and the tools of this machine': { shell: 'sh' },
  bash: programs('bash') ? { shell: 'bash' } : `there is no bash: ${installCommand('bash')}`,
  busybox: busybox ? busyboxWorld(busybox) : `there is no busybox: ${installCommand('busybox-static')}`,
  'a macOS of before 12.3': process.platform === 'linux' ? oldMac() : 'its stand-ins need the tools of GNU',
}

for (const [name, world] of Object.entries(worlds)) {
  if (typeof world !== 'string') describe(`files through ${name}`, () => suite(world))
  else {
    console.warn(`NOT TESTED, files through ${name}: ${world}`)
    describe.skip(`files through ${name} (skipped: ${world})`, () => suite({ shell: 'sh' }))
  }
}

function suite(world: World): void {
  let cwd: string
  let files: ShellFiles
  beforeEach(() => {
    cwd = mkdtempSync(join(scratch, 'w-'))
    files = shellFiles({ keyPrefix: 'test', exec: (command, options) => run(world, command, options?.input) })
  })

  test('text and bytes come back as they were written, small and big', async () => {
    for (const text of ['', 'x', 'ä 漢字 \0 \r\n "q" $HOME `x` \\ \'', '\uFEFFwith a mark'.padEnd(700_000, 'ö')]) {
      await files.writeFile(cwd, 'f', text)
      expect((await files.readFile(cwd, 'f')) === text).toBe(true)
    }
    const bytes = Buffer.from(Array.from({ length: 2_500_000 }, (_, i) => (i * 7919) >> 3))
    await files.writeFile(cwd, 'bin', bytes)
    const file = await files.openFile(cwd, 'bin')
    expect(bytes.equals(await file.read(0, bytes.length + 10))).toBe(true)
    expect(bytes.subarray(1_048_570, 1_048_600).equals(await file.read(1_048_570, 30))).toBe(true)
    expect(await file.read(bytes.length, 10)).toHaveLength(0)
  })

  test('names may hold anything', async () => {
    const names = ['a b', `it's "q"`, '-n', '--help', '$HOME', '*', 'a\nb', 'end\n', '\\', 'ünï 漢', '.hidden', ' ']
    for (const name of names) await files.writeFile(cwd, `in/${name}/${name}`, name)
    for (const name of names) {
      expect(await files.readFile(cwd, `in/${name}/${name}`)).toBe(name)
      expect((await files.stat(cwd, `in/${name}/${name}`)).path).toBe(`${cwd}/in/${name}/${name}`)
      expect(await files.listFiles(cwd, `in/${name}`)).toEqual([name])
    }
    expect(await files.listFiles(cwd, 'in')).toEqual(names.map((name) => `${name}/`).sort())
    expect(readdirSync(join(cwd, 'in')).sort()).toEqual([...names].sort())
  })

  test('a stat tells the real path, the kind, the size and the time', async () => {
    await writeFile(join(cwd, 'f'), 'four')
    await utimes(join(cwd, 'f'), 1_700_000_000.25, 1_700_000_000.25)
    await symlink('f', join(cwd, 'link'))
    await mkdir(join(cwd, 'd'))
    await symlink('d', join(cwd, 'to-d'))
    const path = `${cwd}/f`
    const info = { path, key: `test:${path}`, kind: 'file', size: 4, mtimeMs: 1_700_000_000_250 }
    expect(await files.stat(cwd, 'link')).toMatchObject(info)
    expect(await files.stat(`${cwd}/d`, '../to-d/../f')).toMatchObject(info)
    expect(await files.stat(cwd, 'to-d')).toMatchObject({ path: `${cwd}/d`, kind: 'folder' })
    expect(await files.stat('/', '.')).toMatchObject({ path: '/', kind: 'folder' })
    expect(await files.stat('/', 'dev/null')).toMatchObject({ path: '/dev/null', kind: 'other' })
    expect((await files.openFile(cwd, 'f')).info).toEqual(await files.stat(cwd, 'f'))
  })

  test('a stamp is another one when the content is, even with the same size and time', async () => {
    const path = join(cwd, 'f')
    const stampOf = async (content: string) => {
      await writeFile(path, content)
      await utimes(path, 1_700_000_000, 1_700_000_000)
      return (await files.stat(cwd, 'f')).stamp
    }
    expect(await stampOf('one')).not.toBe(await stampOf('two'))
    expect((await files.stat(cwd, 'f')).stamp).toBe((await files.stat(cwd, 'f')).stamp)
  })

  test('a stale stamp leaves the file alone, and so does null when there is one', async () => {
    await files.writeFile(cwd, 'new/f', 'one', { ifStamp: null })
    const { stamp } = await files.stat(cwd, 'new/f')
    await files.writeFile(cwd, 'new/f', 'two', { ifStamp: stamp })
    await expect(files.writeFile(cwd, 'new/f', 'x', { ifStamp: stamp })).rejects.toMatchObject({ code: 'ESTALE' })
    await expect(files.writeFile(cwd, 'new/f', 'x', { ifStamp: null })).rejects.toMatchObject({ code: 'ESTALE' })
    await expect(files.writeFile(cwd, 'none/f', 'x', { ifStamp: stamp })).rejects.toMatchObject({ code: 'ESTALE' })
    expect(await readFile(join(cwd, 'new/f'), 'utf8')).toBe('two')
    expect(await files.listFiles(cwd, '.')).toEqual(['new/'])
    expect(await files.listFiles(cwd, 'new')).toEqual(['f'])
  })

  test('of many who want to create a file one does', async () => {
    const tries = Array.from({ length: 8 }, (_, i) => files.writeFile(cwd, 'f', `${i}`, { ifStamp: null }))
    const outcomes = await Promise.allSettled(tries)
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    expect(await files.listFiles(cwd, '.')).toEqual(['f'])
  })

  test('overwriting keeps the mode, and a link stays a link', async () => {
    await writeFile(join(cwd, 'f'), 'old')
    chmodSync(join(cwd, 'f'), 0o751)
    await symlink('f', join(cwd, 'link'))
    await files.writeFile(cwd, 'link', 'new')
    expect(await readFile(join(cwd, 'f'), 'utf8')).toBe('new')
    expect(statSync(join(cwd, 'f')).mode & 0o7777).toBe(0o751)
    expect(readlinkSync(join(cwd, 'link'))).toBe('f')
    await symlink('later', join(cwd, 'dangling'))
    await files.writeFile(cwd, 'dangling', 'made')
    expect(await readFile(join(cwd, 'later'), 'utf8')).toBe('made')
  })

  test('what cannot be done fails with the code of the system', async () => {
    await writeFile(join(cwd, 'f'), '')
    await symlink('round', join(cwd, 'round'))
    await symlink('none', join(cwd, 'dangling'))
    spawnSync('mkfifo', [join(cwd, 'pipe')])
    const long = 'x'.repeat(300)
    const attempts: [string, () => Promise<unknown>][] = [
      ['ENOENT', () => files.readFile(cwd, 'none')],
      ['ENOENT', () => files.openFile(cwd, 'none/deep')],
      ['ENOENT', () => files.stat(cwd, 'dangling')],
      ['ENOENT', () => files.listFiles(cwd, 'none')],
      ['ENOTDIR', () => files.readFile(cwd, 'f/x')],
      ['ENOTDIR', () => files.writeFile(cwd, 'f/x', '')],
      ['ENOTDIR', () => files.listFiles(cwd, 'f')],
      ['EISDIR', () => files.readFile(cwd, '.')],
      ['EISDIR', () => files.writeFile(cwd, '.', '')],
      ['ELOOP', () => files.readFile(cwd, 'round')],
      ['ELOOP', () => files.writeFile(cwd, 'round', '')],
      ['ENAMETOOLONG', () => files.readFile(cwd, long)],
      ['EINVAL', () => files.readFile(cwd, 'pipe')],
      ['EINVAL', () => files.openFile(cwd, '/dev/zero')],
      ['EINVAL', () => files.writeFile(cwd, 'pipe', 'x')],
      ['EINVAL', () => files.readFile(cwd, 'a\0b')],
    ]
    for (const [code, attempt] of attempts) await expect(attempt(), attempt.toString()).rejects.toMatchObject({ code })
    expect(readdirSync(cwd).sort()).toEqual(['dangling', 'f', 'pipe', 'round'])
  })

  test.skipIf(process.getuid?.() !== 0)('without permission it is EACCES (skipped unless root)', async () => {
    chmodSync(scratch, 0o755)
    chmodSync(cwd, 0o755)
    for (const name of ['f', 'd/f', 'open/f']) await files.writeFile(cwd, name, 'secret')
    chmodSync(join(cwd, 'open'), 0o777)
    for (const [name, mode] of [['f', 0o600] as const, ['d', 0o700] as const]) chmodSync(join(cwd, name), mode)
    const asNobody = { ...world, uid: 65_534 }
    const theirs = shellFiles({ keyPrefix: 'test', exec: (command, options) => run(asNobody, command, options?.input) })
    const attempts = [
      () => theirs.readFile(cwd, 'f'),
      () => theirs.readFile(cwd, 'd/f'),
      () => theirs.writeFile(cwd, 'f', 'x'),
      () => theirs.writeFile(cwd, 'd/f', 'x'),
      () => theirs.writeFile(cwd, 'open/f', 'x'),
      () => theirs.writeFile(cwd, 'new', 'x'),
      () => theirs.listFiles(cwd, 'd'),
    ]
    for (const attempt of attempts)
      await expect(attempt(), attempt.toString()).rejects.toMatchObject({ code: 'EACCES' })
    expect(await theirs.stat(cwd, 'f')).toMatchObject({ size: 6 })
    expect(await readFile(join(cwd, 'f'), 'utf8')).toBe('secret')
  })

  test('bytes that do not all arrive replace nothing', async () => {
    await files.writeFile(cwd, 'f', 'whole')
    const cut = shellFiles({
      keyPrefix: 'test',
      exec: (command, options) => run(world, command, options?.input?.slice(0, 2)),
    })
    await expect(cut.writeFile(cwd, 'f', 'longer')).rejects.toThrow('Cannot write f: not all bytes arrived')
    expect(await files.readFile(cwd, 'f')).toBe('whole')
    expect(await files.listFiles(cwd, '.')).toEqual(['f'])
  })

  test('output that was cut short is noticed', async () => {
    await files.writeFile(cwd, 'f', 'content')
    const ends = shellFiles({
      keyPrefix: 'test',
      async exec(command, options) {
        const done = await run(world, command, options?.input)
        return { ...done, stdout: done.stdout.slice(-8) }
      },
    })
    await expect(ends.readFile(cwd, 'f')).rejects.toThrow('cut the output')
    await expect(ends.listFiles('/', '.')).rejects.toThrow('cut the output')
  })

  test('a big file that is replaced while it is read is not mixed with its successor', async () => {
    await files.writeFile(cwd, 'f', 'a'.repeat(400_000))
    const file = await files.openFile(cwd, 'f')
    expect(Buffer.from(await file.read(0, 3)).toString()).toBe('aaa')
    await files.writeFile(cwd, 'f', 'b'.repeat(400_000))
    await expect(file.read(3, 3)).rejects.toMatchObject({ code: 'ESTALE' })
  })
}

test('the message of the shell reaches the caller', async () => {
  const failing = (done: Partial<ExecResult>) =>
    shellFiles({ keyPrefix: 'w', exec: async () => ({ stdout: '', stderr: '', exitCode: 1, ...done }) }).readFile(
      '/',
      'f',
    )
  await expect(failing({ exitCode: 127, stderr: 'sh: stat: not found\n' })).rejects.toThrow(
    'Cannot open f: sh: stat: not found',
  )
  await expect(failing({ exitCode: null })).rejects.toThrow('the command ended with a signal')
  await expect(failing({ exitCode: null, timedOut: true })).rejects.toMatchObject({ code: 'ETIMEDOUT' })
  await expect(failing({ stderr: `cat: Permission denied: Input/output error` })).rejects.not.toHaveProperty('code')
})

interface World {
  readonly shell: string
  readonly path?: string
  readonly uid?: number
}

function run({ shell, path, uid }: World, command: string, input?: string | Uint8Array): Promise<ExecResult> {
  return new Promise((resolve, reject) => {
    const env = path === undefined ? process.env : { PATH: path }
    const child = spawn(shell, ['-c', command], { env, ...(uid !== undefined && { uid, gid: uid }) })
    const out = { stdout: [] as Buffer[], stderr: [] as Buffer[] }
    child.stdout.on('data', (bytes) => out.stdout.push(bytes))
    child.stderr.on('data', (bytes) => out.stderr.push(bytes))
    child.stdin.on('error', () => {})
    child.stdin.end(input)
    child.once('error', reject)
    child.once('close', (exitCode) => {
      const [stdout, stderr] = [out.stdout, out.stderr].map((parts) => Buffer.concat(parts).toString('utf8'))
      resolve({ stdout: stdout!, stderr: stderr!, exitCode })
    })
  })
}

/** Where a program of this machine lies. */
function programs(name: string): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter)
  return folders.map((folder) => join(folder, name)).find((file) => existsSync(file))
}

/** Nothing but busybox. */
function busyboxWorld(program: string): World {
  const path = mkdtempSync(join(scratch, 'busybox-'))
  chmodSync(path, 0o755)
  copyFileSync(program, join(path, 'busybox'))
  spawnSync(join(path, 'busybox'), ['--install', '-s', path])
  return { shell: join(path, 'sh'), path }
}

/** Its `stat` knows `-f` and not `-c` (and of changes only the second), its `readlink` no `-f`; there is no `realpath`; `wc` indents. */
function oldMac(): World {
  const path = mkdtempSync(join(scratch, 'mac-'))
  chmodSync(path, 0o755)
  const gnu = (name: string) => programs(name) ?? name
  const scripts = {
    stat: `[ "$1 $2" = '-L -f' ] || { echo 'stat: illegal option -- c' >&2; exit 1; }
      [ "$3" = '%z|%m|%Fm|%Fc|%d:%i|%Lp|%u:%g' ] || exit 1
      exec ${gnu('stat')} -L -c '%s|%Y|%.9Y|%Z|%d:%i|%a|%u:%g' "$4"`,
    readlink: `[ "$1" != -f ] || { echo 'readlink: illegal option -- f' >&2; exit 1; }; exec ${gnu('readlink')} "$1"`,
    wc: `printf '    '; exec ${gnu('wc')} "$@"`,
  }
  const shared = ['ls', 'base64', 'tr', 'tail', 'head', 'mkdir', 'rm', 'cat', 'chown', 'chmod', 'ln', 'mv', 'cksum']
  for (const name of shared) spawnSync('ln', ['-s', gnu(name), join(path, name)])
  for (const [name, script] of Object.entries(scripts))
    spawnSync('sh', ['-c', `printf '#!/bin/sh\\n%s\\n' "$1" > "$0"; chmod 755 "$0"`, join(path, name), script])
  return { shell: gnu('sh'), path }
}
