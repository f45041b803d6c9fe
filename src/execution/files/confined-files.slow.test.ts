import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { chmod, chown, mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeEach, describe, expect } from 'vitest'
import { nobodyCanRunNode } from '../../../test/as-nobody.ts'
import { rounds, testInTurns } from '../../../test/soak.ts'
import { type ConfinedFiles, confinedFiles } from './confined-files.ts'

const test = testInTurns(2)

const scratch = realpathSync(mkdtempSync(join(tmpdir(), 'libero-confined-')))
afterAll(() => rmSync(scratch, { recursive: true, force: true }), 120_000)

const isLinux = process.platform === 'linux'
const isLinuxRoot = isLinux && process.getuid?.() === 0
const source = new URL('confined-files.ts', import.meta.url).href

let place: string
let root: string
let out: string
let files: ConfinedFiles
let children: ChildProcess[]

beforeEach(async () => {
  place = mkdtempSync(join(scratch, 'p-'))
  root = join(place, 'root')
  out = join(place, 'out')
  mkdirSync(root)
  mkdirSync(out)
  files = confinedFiles({ roots: [root] })
  children = []
})

afterEach(async () => {
  for (const child of children) await end(child)
})

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill('SIGKILL')
  await once(child, 'exit')
}

/** How often at least each race is run; a nightly run sets more. */
const races = rounds(50, 10_000)

describe.skipIf(!isLinux)(
  'FS-05 while another process swaps real things for links to the outside (skipped unless Linux)',
  () => {
    /** Each flips between what is real and what leads out, as fast as it can. */
    const racers = {
      file: `
      fs.writeFileSync('root/tmp', 'inside'); fs.renameSync('root/tmp', 'root/d/x')
      fs.symlinkSync('../../out/x', 'root/tmp'); fs.renameSync('root/tmp', 'root/d/x')`,
      folder: swapped('root/d'),
      'folder above': swapped('root/up'),
      // In one step, so that it is never missing.
      'link to the folder': `
      fs.symlinkSync('d', 'root/tmp'); fs.renameSync('root/tmp', 'root/link')
      fs.symlinkSync('../out', 'root/tmp'); fs.renameSync('root/tmp', 'root/link')`,
    }

    /** When a write makes the folder while it is away, it is put back. */
    function swapped(folder: string): string {
      return `
      try {
        fs.renameSync('${folder}', 'root/real'); fs.symlinkSync('../out', '${folder}')
        fs.unlinkSync('${folder}'); fs.renameSync('root/real', '${folder}')
      } catch {
        fs.rmSync('${folder}', { recursive: true, force: true, maxRetries: 9 })
        try { fs.renameSync('root/real', '${folder}') } catch {}
      }`
    }

    type Racer = keyof typeof racers
    const cases: [verb: string, racer: Racer, run: (i: number) => Promise<unknown>][] = [
      ['readFile', 'file', () => files.readFile(root, 'd/x')],
      ['readFile', 'folder', () => files.readFile(root, 'd/x')],
      ['readFile', 'folder above', () => files.readFile(root, 'up/d/x')],
      ['openFile', 'file', () => readOpened('d/x')],
      ['openFile', 'folder', () => readOpened('d/x')],
      ['readFile', 'link to the folder', () => files.readFile(root, 'link/x')],
      ['stat', 'link to the folder', () => files.stat(root, 'link/x')],
      ['listFiles', 'folder', () => files.listFiles(root, 'd')],
      ['listFiles', 'folder above', () => files.listFiles(root, 'up/d')],
      ['listFiles', 'link to the folder', () => files.listFiles(root, 'link')],
      ['writeFile', 'file', (i) => files.writeFile(root, 'd/x', `inside ${i}`)],
      ['writeFile', 'folder', (i) => files.writeFile(root, 'd/x', `inside ${i}`)],
      ['writeFile', 'link to the folder', (i) => files.writeFile(root, 'link/x', `inside ${i}`)],
      ['writeFile of a new file', 'folder', (i) => files.writeFile(root, `d/new-${i}`, 'inside', { ifStamp: null })],
      ['writeFile in a new folder', 'folder', (i) => files.writeFile(root, `d/new-${i}/deep/x`, 'inside')],
      [
        'writeFile in a new folder',
        'link to the folder',
        (i) => files.writeFile(root, `link/new-${i}/deep/x`, 'inside'),
      ],
      ['writeFile in a new folder', 'folder above', (i) => files.writeFile(root, `up/d/new-${i}/x`, 'inside')],
    ]

    test.each(cases)(
      '%s never gets out (the %s is swapped)',
      { timeout: 60_000 + races * 20 },
      async (_, racer, run) => {
        for (const folder of ['root/d', 'root/up/d', 'out/d']) mkdirSync(join(place, folder), { recursive: true })
        for (const file of ['root/d/x', 'root/up/d/x']) writeFileSync(join(place, file), 'inside')
        for (const file of ['out/x', 'out/d/x', 'out/canary', 'out/d/canary'])
          writeFileSync(join(place, file), 'CANARY')
        symlinkSync('d', join(root, 'link'))
        const child = await startRacer(racers[racer])

        const outcomes = new Map<string, number>()
        const isEnough = (tries: number) => tries >= races && outcomes.has('worked') && outcomes.has('EOUTSIDE')
        // A sample of the races may need many more tries until both outcomes were seen once.
        for (let tries = 0; tries < races * 5 + 5000 && !isEnough(tries); tries++) {
          const outcome = await run(tries).then(worked, codeOf)
          outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
        }

        // Both happened, and it never gave up: so there was a race.
        expect(child.exitCode).toBeNull()
        expect([...outcomes.keys()]).toEqual(expect.arrayContaining(['worked', 'EOUTSIDE']))
        expect(treeOf(out)).toEqual({ x: 'CANARY', canary: 'CANARY', d: { x: 'CANARY', canary: 'CANARY' } })
        await end(child)
        expect(readdirSync(root, { recursive: true }).filter((name) => String(name).endsWith('.tmp'))).toEqual([])
      },
    )

    function worked(result: unknown): string {
      const text = JSON.stringify(result) ?? ''
      expect(text).not.toMatch(/canary/i)
      expect(text).not.toContain(`${out}/`)
      return 'worked'
    }

    async function readOpened(path: string): Promise<string> {
      const file = await files.openFile(root, path)
      try {
        expect(file.info.path.startsWith(`${root}/`)).toBe(true)
        return Buffer.from(await file.read(0, 100)).toString()
      } finally {
        await file.close()
      }
    }

    async function startRacer(flip: string): Promise<ChildProcess> {
      const code = `const fs = require('node:fs'); console.log('ready'); for (;;) { ${flip} }`
      const child = spawn(process.execPath, ['-e', code], { cwd: place, stdio: ['ignore', 'pipe', 'inherit'] })
      children.push(child)
      await once(child.stdout, 'data')
      return child
    }
  },
)

describe.skipIf(!isLinuxRoot)('the file system of another process (skipped unless root on Linux)', () => {
  test('is outside, even where its paths are those of a root', async () => {
    await writeFile(join(out, 'x'), 'CANARY')
    await writeFile(join(root, 'x'), 'mine')
    const child = spawn('unshare', ['-m', 'sh', '-c', `mount --bind '${out}' '${root}' && echo ready && exec sleep 60`])
    children.push(child)
    await once(child.stdout, 'data')
    const other = `/proc/${child.pid}/root${root}`
    await symlink(`${other}/x`, join(root, 'file'))
    await symlink(other, join(root, 'folder'))
    // The result if the path that the system shows for an open file were trusted.
    expect(await readFile(join(root, 'file'), 'utf8')).toBe('CANARY')
    expect(realpathSync(join(root, 'file'))).toBe(join(root, 'x'))
    const works = [
      () => files.readFile(root, 'file'),
      () => files.stat(root, 'file'),
      () => files.openFile(root, 'folder/x'),
      () => files.listFiles(root, 'folder'),
      () => files.writeFile(root, 'file', 'ESCAPED'),
      () => files.writeFile(root, 'folder/new', 'ESCAPED'),
      () => files.writeFile(root, 'folder/new/deep', 'ESCAPED'),
    ]
    for (const work of works) {
      const error = await work().then(
        () => undefined,
        (error: unknown) => error,
      )
      expect(error).toMatchObject({
        code: 'EOUTSIDE',
        message: expect.stringContaining('file system of another process'),
      })
    }
    expect(treeOf(out)).toEqual({ x: 'CANARY' })
    expect(await files.readFile(root, 'x')).toBe('mine')
  })

  test('is not what a mount inside a root is', async () => {
    const inner = join(root, 'inner')
    await mkdir(inner)
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', inner])
    try {
      await files.writeFile(root, 'inner/a/f', 'x')
      expect(await files.readFile(root, 'inner/a/f')).toBe('x')
    } finally {
      execFileSync('umount', [inner])
    }
  })
})

describe('FT-16 a write that finds no room', () => {
  const canMount = isLinuxRoot && Boolean(process.env.CI)
  test.skipIf(!canMount)(
    'leaves the old content on a full disk (skipped unless root on Linux, with CI set)',
    async () => {
      const disk = join(root, 'disk')
      await mkdir(disk)
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', disk])
      try {
        await files.writeFile(root, 'disk/f', 'old'.repeat(5000))
        expect(await codeOfWork(files.writeFile(root, 'disk/f', 'x'.repeat(200_000)))).toBe('ENOSPC')
        expect(await codeOfWork(files.writeFile(root, 'disk/new/f', 'x'.repeat(200_000)))).toBe('ENOSPC')
        expect(await files.readFile(root, 'disk/f')).toBe('old'.repeat(5000))
        expect(treeOf(disk)).toEqual({ f: 'old'.repeat(5000), new: {} })
        // There is room for both only when nothing was left behind.
        await files.writeFile(root, 'disk/f', 'y'.repeat(30_000))
      } finally {
        execFileSync('umount', [disk])
      }
    },
  )

  test.skipIf(process.platform === 'win32')('leaves the old content when files may not get that big', async () => {
    await files.writeFile(root, 'f', 'old')
    const code = `
      const { confinedFiles } = await import(${JSON.stringify(source)})
      const files = confinedFiles({ roots: [${JSON.stringify(root)}] })
      const code = await files.writeFile(${JSON.stringify(root)}, 'f', 'x'.repeat(1_000_000)).catch(({ code }) => code)
      console.log(code)`
    const script = 'ulimit -f 64 && exec "$0" --conditions=libero-source --input-type=module -e "$1"'
    const { stdout, stderr } = spawnSync('sh', ['-c', script, process.execPath, code], {
      encoding: 'utf8',
      timeout: 60_000,
    })
    expect({ stdout, stderr }).toEqual({ stdout: 'EFBIG\n', stderr: '' })
    expect(treeOf(root)).toEqual({ f: 'old' })
  })
})

describe.skipIf(!nobodyCanRunNode)(
  'as a user with few rights (skipped unless root on Linux, in a folder open to all)',
  () => {
    /** The result or error of each operation, as the user nobody. */
    function asNobody(...calls: string[]): unknown[] {
      const code = `
      const { confinedFiles } = await import(${JSON.stringify(source)})
      const files = confinedFiles({ roots: [${JSON.stringify(root)}] })
      const root = ${JSON.stringify(root)}
      const answers = []
      for (const call of [${calls.map((call) => `() => ${call}`).join(',')}])
        answers.push(await call().then((answer) => answer ?? 'done', ({ code }) => code))
      console.log(JSON.stringify(answers))`
      const args = ['--conditions=libero-source', '--input-type=module', '-e', code]
      const options = { uid: 65534, gid: 65534, encoding: 'utf8', timeout: 60_000, cwd: '/' } as const
      const { stdout, stderr } = spawnSync(process.execPath, args, options)
      if (stdout === '') throw new Error(stderr)
      return JSON.parse(stdout)
    }

    beforeEach(async () => {
      for (const folder of [scratch, place]) await chmod(folder, 0o755)
      await chown(root, 65534, 65534)
    })

    test('a file that may not be written is not replaced either', async () => {
      for (const [name, mode] of [
        ['read-only', 0o444],
        ['theirs', 0o644],
        ['shared', 0o666],
      ] as const) {
        await writeFile(join(root, name), 'old')
        await chmod(join(root, name), mode)
      }
      await chown(join(root, 'read-only'), 65534, 65534)
      const answers = asNobody(
        `files.writeFile(root, 'read-only', 'new')`,
        `files.writeFile(root, 'theirs', 'new')`,
        `files.writeFile(root, 'shared', 'new')`,
      )
      expect(answers).toEqual(['EACCES', 'EACCES', 'done'])
      expect(treeOf(root)).toEqual({ 'read-only': 'old', theirs: 'old', shared: 'new' })
    })

    test('what may not be read is still known, and what lies outside is not', async () => {
      await writeFile(join(root, 'private'), 'secret')
      await chmod(join(root, 'private'), 0o600)
      await mkdir(join(root, 'closed'), { mode: 0o700 })
      await writeFile(join(root, 'closed/x'), 'x')
      await mkdir(join(root, 'drop'))
      await chmod(join(root, 'drop'), 0o333)
      await writeFile(join(out, 'secret'), 'CANARY')
      await chmod(out, 0o700)
      await symlink(join(out, 'secret'), join(root, 'link'))
      await symlink(join(out, 'none'), join(root, 'dangling'))
      const answers = asNobody(
        `files.stat(root, 'private').then(({ kind }) => kind)`,
        `files.readFile(root, 'private')`,
        `files.readFile(root, 'closed/x')`,
        `files.writeFile(root, 'closed/y', 'new')`,
        `files.listFiles(root, 'drop')`,
        `files.writeFile(root, 'drop/f', 'new')`,
        `files.readFile(root, 'link')`,
        `files.readFile(root, 'dangling')`,
        `files.writeFile(root, 'dangling', 'new')`,
      )
      const inside = ['file', 'EACCES', 'EACCES', 'EACCES', 'EACCES', 'done']
      expect(answers).toEqual([...inside, 'EOUTSIDE', 'EOUTSIDE', 'EOUTSIDE'])
      expect(treeOf(join(root, 'drop'))).toEqual({ f: 'new' })
    })
  },
)

describe('FT-28 much of it', () => {
  const count = rounds(20_000, 100_000)
  test(`a folder with ${count} entries, some of them links, is listed`, { timeout: 120_000 }, async () => {
    const half = count / 2
    await mkdir(join(root, 'folder'))
    writeFileSync(join(root, 'folder/0'), '')
    // Names of one file are made faster than files; ext4 allows 65,000 of one.
    for (let i = 1; i < half; i++) linkSync(join(root, 'folder/0'), join(root, `folder/${i}`))
    writeFileSync(join(root, `folder/${half}`), '')
    for (let i = half + 1; i < count - 1000; i++) linkSync(join(root, `folder/${half}`), join(root, `folder/${i}`))
    for (let i = count - 1000; i < count; i++) symlinkSync('.', join(root, `folder/${i}`))
    const names = await files.listFiles(root, 'folder')
    expect(names).toHaveLength(count)
    expect(names).toEqual([...names].sort())
    expect(names.filter((name) => name.endsWith('/'))).toHaveLength(1000)
  })

  test('a part of a file of a terabyte is read, and all of it at once refused', async () => {
    const path = join(root, 'sparse')
    writeFileSync(path, 'start')
    execFileSync('truncate', ['-s', '1T', path])
    const file = await files.openFile(root, 'sparse')
    expect(file.info.size).toBe(2 ** 40)
    expect(Buffer.from(await file.read(0, 5)).toString()).toBe('start')
    expect(await file.read(2 ** 40 - 10, 100)).toHaveLength(10)
    await file.close()
    expect(await codeOfWork(files.readFile(root, 'sparse'))).toBe('EFBIG')
    rmSync(path)
  })

  test('a path of 1,500 folders that are not there is told, and made when there is something to write', async () => {
    const path = `${'d/'.repeat(1500)}f`
    expect(await codeOfWork(files.readFile(root, path))).toBe('ENOENT')
    await files.writeFile(root, path, 'deep')
    expect(await files.readFile(root, path)).toBe('deep')
    expect(existsSync(join(root, path))).toBe(true)
  })
})

type Tree = { [name: string]: string | Tree }

function treeOf(folder: string): Tree {
  const entries = readdirSync(folder, { withFileTypes: true }).map((entry) => {
    const path = join(folder, entry.name)
    return [entry.name, entry.isDirectory() ? treeOf(path) : readFileSync(path, 'utf8')] as const
  })
  return Object.fromEntries(entries)
}

function codeOf(error: unknown): string {
  if (error instanceof Error && 'code' in error && typeof error.code === 'string') return error.code
  throw error
}

function codeOfWork(work: Promise<unknown>): Promise<string> {
  return work.then(() => 'it worked', codeOf)
}
