import { execFileSync } from 'node:child_process'
import { existsSync, lstatSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, statSync } from 'node:fs'
import { chmod, chown, link, mkdir, readFile, rename, rm, symlink, unlink, utimes, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeEach, describe, expect } from 'vitest'
import { testInTurns } from '../../../test/soak.ts'
import { type ConfinedFiles, confinedFiles } from './confined-files.ts'

const test = testInTurns(3)

const scratch = realpathSync(mkdtempSync(join(tmpdir(), 'libero-confined-')))
afterAll(() => rmSync(scratch, { recursive: true, force: true }))

const isLinux = process.platform === 'linux'
const isRoot = process.getuid?.() === 0

const ways: Record<string, boolean> = isLinux ? { descriptors: true, paths: false } : { paths: false }
for (const [way, byDescriptor] of Object.entries(ways)) describe(`files by ${way}`, () => suite(byDescriptor))

function suite(byDescriptor: boolean): void {
  /** Holds the root `w/proj`, its sibling `w/proj-evil`, and `out`, which is not accessible. */
  let place: string
  let root: string
  let out: string
  let files: ConfinedFiles
  const confined = (roots: readonly string[] | 'any') => confinedFiles({ roots, byDescriptor })

  beforeEach(async () => {
    place = mkdtempSync(join(scratch, 'p-'))
    root = join(place, 'w/proj')
    out = join(place, 'out')
    await mkdir(root, { recursive: true })
    await mkdir(join(place, 'w/proj-evil'))
    await mkdir(join(out, 'folder'), { recursive: true })
    await writeFile(join(out, 'secret'), 'CANARY')
    await writeFile(join(place, 'w/proj-evil/x'), 'CANARY')
    files = confined([root])
  })

  /** What each verb does with a path. */
  const verbs: Record<string, (path: string) => Promise<unknown>> = {
    stat: (path) => files.stat(root, path),
    openFile: async (path) => (await files.openFile(root, path)).close(),
    readFile: (path) => files.readFile(root, path),
    writeFile: (path) => files.writeFile(root, path, 'ESCAPED'),
    listFiles: (path) => files.listFiles(root, path),
  }

  async function expectOutside(path: string): Promise<void> {
    const evil = join(place, 'w/proj-evil')
    const changedAt = () => [out, join(out, 'folder'), evil].map((folder) => statSync(folder, { bigint: true }).ctimeNs)
    const before = changedAt()
    for (const [verb, run] of Object.entries(verbs))
      expect(`${verb} ${await codeOf(run(path))}`).toBe(`${verb} EOUTSIDE`)
    expect(treeOf(out)).toEqual({ folder: {}, secret: 'CANARY' })
    expect(treeOf(evil)).toEqual({ x: 'CANARY' })
    // Not even for a moment was there another file.
    expect(changedAt()).toEqual(before)
  }

  describe('inside', () => {
    test('a file is read as it was written, and its folders are made', async () => {
      for (const text of ['', 'plain\n', '\ufeffBOM ä 漢字 👩‍🚀\r\n\0', 'x'.repeat(300_000)]) {
        await files.writeFile(root, 'a/b/c.txt', text)
        expect(await files.readFile(root, './a/x/../b/c.txt')).toBe(text)
        expect(await readFile(join(root, 'a/b/c.txt'), 'utf8')).toBe(text)
      }
      expect(treeOf(root)).toEqual({ a: { b: { 'c.txt': 'x'.repeat(300_000) } } })
    })

    test('FT-20 bytes are kept: what is no UTF-8 is written and read as it is', async () => {
      const bytes = Uint8Array.from({ length: 256 }, (_, i) => i)
      await files.writeFile(root, 'bytes', bytes)
      expect([...(await readFile(join(root, 'bytes')))]).toEqual([...bytes])
      const file = await files.openFile(root, 'bytes')
      expect([...(await file.read(0, 1000))]).toEqual([...bytes])
      await file.close()
      await writeFile(join(root, 'latin1'), Buffer.from('a\xe4', 'latin1'))
      expect(await files.readFile(root, 'latin1')).toBe('a\ufffd')
    })

    test('a name may be as long as names can be', async () => {
      await files.writeFile(root, 'n'.repeat(255), 'long')
      expect(treeOf(root)).toEqual({ ['n'.repeat(255)]: 'long' })
      expect(await codeOf(files.writeFile(root, 'n'.repeat(256), 'x'))).toBe('ENAMETOOLONG')
    })

    test('what is missing, or of another kind, is told with the path that was meant', async () => {
      await files.writeFile(root, 'f', 'file')
      await mkdir(join(root, 'folder'))
      const failures: [work: () => Promise<unknown>, code: string, path: string][] = [
        [() => files.readFile(root, 'none'), 'ENOENT', 'none'],
        [() => files.stat(root, 'none'), 'ENOENT', 'none'],
        [() => files.openFile(root, 'no/ne'), 'ENOENT', 'no/ne'],
        [() => files.listFiles(root, 'none'), 'ENOENT', 'none'],
        [() => files.readFile(root, 'folder'), 'EISDIR', 'folder'],
        [() => files.openFile(root, 'folder'), 'EISDIR', 'folder'],
        [() => files.writeFile(root, 'folder', ''), 'EISDIR', 'folder'],
        [() => files.listFiles(root, 'f'), 'ENOTDIR', 'f'],
        [() => files.readFile(root, 'f/x'), 'ENOTDIR', 'f/x'],
        [() => files.writeFile(root, 'f/x', ''), 'ENOTDIR', 'f/x'],
        [() => files.writeFile(root, 'f/x/y', ''), 'ENOTDIR', 'f/x/y'],
      ]
      for (const [work, code, path] of failures) {
        const error = await errorOf(work())
        expect(error).toMatchObject({ code, message: expect.stringContaining(`"${join(root, path)}"`) })
        expect(error.message).not.toContain('/proc/')
      }
      expect(await codeOf(files.writeFile(root, '.', ''))).toBe('EISDIR')
      expect(treeOf(root)).toEqual({ f: 'file', folder: {} })
    })

    test('a folder lists its names, sorted, with a slash after what is a folder or leads to one', async () => {
      for (const path of ['b.txt', 'c/inner', '.hidden', 'B/x', 'c.txt']) await files.writeFile(root, path, '')
      await symlink('c', join(root, 'to-folder'))
      await symlink('b.txt', join(root, 'to-file'))
      await symlink('nowhere', join(root, 'to-nothing'))
      const all = ['.hidden', 'B/', 'b.txt', 'c.txt', 'c/', 'to-file', 'to-folder/', 'to-nothing']
      expect(await files.listFiles(root, '.')).toEqual(all)
      expect(await files.listFiles(root, 'to-folder')).toEqual(['inner'])
    })

    test('FS-13 however a file is spelled, it is one file with one key', async () => {
      await files.writeFile(root, 'sub/.env', 'x')
      await symlink('sub', join(root, 'link'))
      await symlink('sub/.env', join(root, 'file-link'))
      const real = join(root, 'sub/.env')
      const spelled = [
        'sub/.env',
        './sub//.env',
        'sub/../sub/.env/',
        `/${real}`,
        `file://${real}`,
        'link/.env',
        'file-link',
      ]
      for (const path of spelled)
        expect(await files.stat(root, path)).toMatchObject({ path: real, key: `file:${real}`, kind: 'file', size: 1 })
      expect((await files.stat(join(root, 'sub'), '.env')).key).toBe(`file:${real}`)
      expect(await files.stat(root, 'link')).toMatchObject({ path: join(root, 'sub'), kind: 'folder' })
    })

    test('what lies in the home folder is found by ~, where that is allowed', async () => {
      expect((await confined('any').stat(root, '~')).path).toBe(realpathSync(homedir()))
      expect((await errorOf(files.stat(root, '~'))).message).toContain(homedir())
    })

    test('every new content has a new stamp, also with the size and the times of the old one', async () => {
      await files.writeFile(root, 'f', 'one')
      const seen = new Set<string>()
      const past = new Date(0)
      for (const text of ['one', 'two', 'six', 'ten']) {
        await writeFile(join(root, 'f'), text)
        await utimes(join(root, 'f'), past, past)
        const { stamp, size, mtimeMs } = await files.stat(root, 'f')
        expect([size, mtimeMs]).toEqual([3, 0])
        seen.add(stamp)
        await files.writeFile(root, 'f', text)
        seen.add((await files.stat(root, 'f')).stamp)
      }
      expect(seen.size).toBe(8)
    })
  })

  describe('an open file', () => {
    test('is read in parts, and gives less only at its end', async () => {
      await files.writeFile(root, 'f', '0123456789')
      const file = await files.openFile(root, 'f')
      const text = async (position: number, length: number) => Buffer.from(await file.read(position, length)).toString()
      expect(await text(0, 4)).toBe('0123')
      expect(await text(4, 4)).toBe('4567')
      expect(await text(8, 4)).toBe('89')
      expect(await text(10, 4)).toBe('')
      expect(await text(99, 4)).toBe('')
      expect(await text(3, 0)).toBe('')
      expect(await text(0, 1e12)).toBe('0123456789')
      await writeFile(join(root, 'f'), 'more', { flag: 'a' })
      expect(await text(8, 9)).toBe('89more')
      await file.close()
    })

    test('stays what it was when its name is given to another one', async () => {
      await files.writeFile(root, 'f', 'first')
      const file = await files.openFile(root, 'f')
      await files.writeFile(root, 'f', 'second')
      await unlink(join(root, 'f'))
      await symlink(join(out, 'secret'), join(root, 'f'))
      expect(Buffer.from(await file.read(0, 100)).toString()).toBe('first')
      expect(file.info).toMatchObject({ path: join(root, 'f'), size: 5 })
      await file.close()
    })

    test('is closed once however often one asks, after the reads that were begun, and read no more', async () => {
      await files.writeFile(root, 'f', 'x'.repeat(100_000))
      await files.writeFile(root, 'other', 'y'.repeat(100_000))
      const file = await files.openFile(root, 'f')
      const reads = Array.from({ length: 20 }, (_, i) => file.read(i, 50_000))
      await Promise.all([file.close(), file.close()])
      // It may have got the number of the descriptor that was closed.
      const other = await files.openFile(root, 'other')
      await file.close()
      for (const bytes of await Promise.all(reads)) expect(Buffer.from(bytes).toString()).toBe('x'.repeat(50_000))
      expect(await codeOf(file.read(0, 1))).toBe('EBADF')
      expect((await other.read(0, 1))[0]).toBe('y'.charCodeAt(0))
      await other.close()
    })
  })

  describe('outside', () => {
    test('FS-01 no verb gets out by ..', async () => {
      for (const path of [
        '../../out/secret',
        'a/b/../../../../out/secret',
        join(root, '../../out/secret'),
        '../../out/new',
      ])
        await expectOutside(path)
      await expectOutside('../..')
      await expectOutside(join(out, 'secret'))
      await expectOutside('/')
      await expectOutside('~/.ssh')
    })

    test('FS-02 a sibling whose name starts with that of the root is outside', async () => {
      await expectOutside(join(place, 'w/proj-evil/x'))
      await expectOutside('../proj-evil/x')
      await expectOutside('../proj-evil')
      await expectOutside('../PROJ/x')
    })

    test('FS-03 a link to the outside is outside, whatever it leads to', async () => {
      await symlink(join(out, 'secret'), join(root, 'absolute'))
      await symlink('../../out/secret', join(root, 'relative'))
      await symlink('relative', join(root, 'twice'))
      await symlink(join(out, 'folder'), join(root, 'folder'))
      await symlink(join(out, 'not-there'), join(root, 'dangling'))
      await symlink(join(out, 'not/there'), join(root, 'dangling-deep'))
      await symlink('dangling', join(root, 'dangling-twice'))
      for (const name of readdirSync(root)) await expectOutside(name)
    })

    test('FS-04 nothing is made through a folder that is a link to the outside', async () => {
      await symlink('..', join(root, 'up'))
      await symlink(join(out, 'folder'), join(root, 'folder'))
      await symlink(join(out, 'not-there'), join(root, 'dangling'))
      for (const path of [
        'up/new',
        'up/new/deep',
        'folder/new',
        'folder/new/deep',
        'dangling/new',
        'dangling/new/deep',
      ])
        await expectOutside(path)
      expect(readdirSync(join(place, 'w'))).toEqual(['proj', 'proj-evil'])
    })

    test('FS-22 a file that was replaced by a link to the outside is not written through it', async () => {
      await files.writeFile(root, 'f', 'old')
      const { stamp } = await files.stat(root, 'f')
      await unlink(join(root, 'f'))
      await symlink(join(out, 'secret'), join(root, 'f'))
      expect(await codeOf(files.writeFile(root, 'f', 'restored', { ifStamp: stamp }))).toBe('EOUTSIDE')
      await expectOutside('f')
    })

    test('the error names the path, where it leads, and the folders, and says what can be done', async () => {
      await symlink(join(out, 'secret'), join(root, 'link'))
      const error = await errorOf(files.readFile(root, 'link'))
      expect(error).toMatchObject({ code: 'EOUTSIDE', path: join(root, 'link') })
      expect(error.message).toBe(
        `"${root}/link" leads to "${out}/secret", which is outside the folders that tools may use (${root}). ` +
          'Work inside these; the operator of the agent can allow more folders',
      )
      const plain = await errorOf(files.readFile(root, join(out, 'none')))
      expect(plain.message).toMatch(`"${out}/none" is outside the folders that tools may use (${root}).`)
    })

    test('a link that leads out and back in is followed', async () => {
      await files.writeFile(root, 'f', 'mine')
      await symlink(join(root, 'f'), join(out, 'back'))
      await symlink(join(out, 'back'), join(root, 'round'))
      expect(await files.readFile(root, 'round')).toBe('mine')
      await files.writeFile(root, 'round', 'new')
      expect(await files.readFile(root, 'f')).toBe('new')
      expect(lstatSync(join(out, 'back')).isSymbolicLink()).toBe(true)
    })
  })

  describe('the roots', () => {
    test('may be several, may end in a slash, and may be the top of all', async () => {
      const two = confined([root, `${out}/`])
      expect(await two.readFile(root, join(out, 'secret'))).toBe('CANARY')
      expect(await two.listFiles(root, out)).toEqual(['folder/', 'secret'])
      expect(await codeOf(two.readFile(root, join(place, 'w/proj-evil/x')))).toBe('EOUTSIDE')
      expect(await confined(['/']).readFile(root, join(out, 'secret'))).toBe('CANARY')
    })

    test('may be none, and must be absolute', async () => {
      const none = confined([])
      expect((await errorOf(none.readFile(root, 'f'))).message).toContain('(there are none)')
      expect(() => confined(['w'])).toThrow('The root folder "w" must be an absolute path')
    })

    test('may be links', async () => {
      await symlink(root, join(place, 'to-root'))
      const linked = confined([join(place, 'to-root')])
      await linked.writeFile(join(place, 'to-root'), 'a/f', 'x')
      expect(await linked.stat(join(place, 'to-root'), 'a/f')).toMatchObject({ path: join(root, 'a/f') })
      expect(await linked.readFile('/', join(root, 'a/f'))).toBe('x')
      expect(await codeOf(linked.readFile('/', join(out, 'secret')))).toBe('EOUTSIDE')
    })

    test('may be missing at first, also behind a link', async () => {
      const missing = join(place, 'later/on')
      await symlink(missing, join(place, 'to-later'))
      const late = confined([join(place, 'to-later')])
      expect(await codeOf(late.readFile(missing, 'f'))).toBe('ENOENT')
      expect(await codeOf(late.writeFile(missing, '../f', 'x'))).toBe('EOUTSIDE')
      expect(existsSync(join(place, 'later'))).toBe(false)
      await late.writeFile(missing, 'a/f', 'x')
      expect(await late.readFile(join(place, 'to-later'), 'a/f')).toBe('x')
      expect(treeOf(join(place, 'later'))).toEqual({ on: { a: { f: 'x' } } })
    })

    test('do not move: a root that is replaced by a link to the outside opens nothing', async () => {
      await mkdir(join(root, 'nested'))
      const nested = confined([root, join(root, 'nested'), join(root, 'missing')])
      await rm(join(root, 'nested'), { recursive: true })
      for (const name of ['nested', 'missing']) {
        await symlink(out, join(root, name))
        expect(await codeOf(nested.readFile(root, `${name}/secret`))).toBe('EOUTSIDE')
        expect(await codeOf(nested.writeFile(root, `${name}/secret`, 'x'))).toBe('EOUTSIDE')
      }
      expect(treeOf(out)).toEqual({ folder: {}, secret: 'CANARY' })
    })

    test('FT-15 a working folder that was deleted is told, and harms no other', async () => {
      const gone = join(root, 'gone')
      await mkdir(gone)
      await files.writeFile(root, 'other/f', 'fine')
      expect(await files.listFiles(gone, '.')).toEqual([])
      await rm(gone, { recursive: true })
      for (let i = 0; i < 3; i++) {
        const error = await errorOf(files.readFile(gone, 'f'))
        expect(error).toMatchObject({ code: 'ENOENT', message: expect.stringContaining(gone) })
        expect(await codeOf(files.listFiles(gone, '.'))).toBe('ENOENT')
      }
      expect(await files.readFile(join(root, 'other'), 'f')).toBe('fine')
    })

    test('with any, nothing is outside, and all else holds', async () => {
      const free = confined('any')
      await symlink(join(out, 'secret'), join(root, 'link'))
      expect(await free.readFile(root, 'link')).toBe('CANARY')
      await free.writeFile(root, 'link', 'new')
      expect(await readFile(join(out, 'secret'), 'utf8')).toBe('new')
      expect(lstatSync(join(root, 'link')).isSymbolicLink()).toBe(true)
      expect(await codeOf(free.readFile(root, 'none'))).toBe('ENOENT')
      expect(await codeOf(free.writeFile(root, 'link', 'x', { ifStamp: null }))).toBe('ESTALE')
    })
  })

  describe('special files', () => {
    test('FT-27 FS-14 pipes, sockets and devices are refused before anything is read', async () => {
      execFileSync('mkfifo', [join(root, 'pipe')])
      await symlink('pipe', join(root, 'to-pipe'))
      const server = createServer().listen(join(root, 'socket'))
      await new Promise((resolve) => server.once('listening', resolve))
      const free = confined('any')
      try {
        const special = { pipe: 'a named pipe', 'to-pipe': 'a named pipe', socket: 'a socket', '/dev/zero': 'a device' }
        for (const [path, kind] of Object.entries(special)) {
          for (const verb of [free.readFile, free.openFile, free.writeFile]) {
            const error = await errorOf(verb(root, path, 'x'))
            expect(error).toMatchObject({
              code: 'EINVAL',
              message: expect.stringContaining(`is ${kind}; only regular`),
            })
          }
          expect((await free.stat(root, path)).kind).toBe('other')
        }
        expect(readdirSync(root).sort()).toEqual(['pipe', 'socket', 'to-pipe'])
        expect(lstatSync(join(root, 'pipe')).isFIFO()).toBe(true)
      } finally {
        server.close()
      }
    })

    test.skipIf(!isLinux)(
      'FS-14 files of the system are read where they are inside, whatever size they claim',
      async () => {
        expect(await codeOf(files.readFile(root, '/proc/self/environ'))).toBe('EOUTSIDE')
        await symlink('/proc/self/environ', join(root, 'environ'))
        expect(await codeOf(files.readFile(root, 'environ'))).toBe('EOUTSIDE')
        const system = confined(['/proc'])
        expect((await system.stat('/proc', 'self/status')).size).toBe(0)
        expect(await system.readFile('/proc', 'self/status')).toMatch(/^Name:.*\nUmask:/s)
        const file = await system.openFile('/proc', 'self/status')
        expect(Buffer.from(await file.read(0, 5)).toString()).toBe('Name:')
        await file.close()
      },
    )

    test.skipIf(!isLinux)('descriptors of this process are reached by no link', async () => {
      const secret = await confined('any').openFile(out, 'secret')
      try {
        for (const fd of readdirSync('/proc/self/fd')) await symlink(`/proc/self/fd/${fd}`, join(root, `fd-${fd}`))
        await symlink('/proc/self/root', join(root, 'top'))
        await symlink('/proc/self/cwd', join(root, 'cwd'))
        const codes = new Set<unknown>()
        for (const name of readdirSync(root)) for (const run of Object.values(verbs)) codes.add(await codeOf(run(name)))
        codes.add(await codeOf(files.readFile(root, `top${out}/secret`)))
        expect([...codes]).toEqual(['EOUTSIDE'])
      } finally {
        await secret.close()
      }
      expect(treeOf(out)).toEqual({ folder: {}, secret: 'CANARY' })
    })
  })

  describe('FT-28 links', () => {
    test('that lead round in a circle are told', async () => {
      await symlink('b', join(root, 'a'))
      await symlink('a', join(root, 'b'))
      for (const [verb, run] of Object.entries(verbs)) expect(`${verb} ${await codeOf(run('a'))}`).toBe(`${verb} ELOOP`)
      for (const [verb, run] of Object.entries(verbs))
        expect(`${verb} ${await codeOf(run('a/x'))}`).toBe(`${verb} ELOOP`)
    })

    test('inside stay links, and what they lead to is replaced or made', async () => {
      await files.writeFile(root, 'sub/target', 'old')
      await symlink('sub/target', join(root, 'link'))
      await symlink('sub', join(root, 'folder'))
      await symlink('sub/new/deep/made', join(root, 'dangling'))
      // Not sub/../up: the system goes up from where `folder` leads to.
      await mkdir(join(root, 'far/away'), { recursive: true })
      await symlink('far/away', join(root, 'away'))
      await symlink('away/../beside', join(root, 'up'))
      await files.writeFile(root, 'link', 'new')
      await files.writeFile(root, 'folder/other', 'other')
      await files.writeFile(root, 'dangling', 'made')
      await files.writeFile(root, 'up', 'beside')
      expect(treeOf(join(root, 'sub'))).toEqual({ target: 'new', other: 'other', new: { deep: { made: 'made' } } })
      expect(treeOf(join(root, 'far'))).toEqual({ away: {}, beside: 'beside' })
      for (const name of ['link', 'folder', 'dangling', 'up'])
        expect(lstatSync(join(root, name)).isSymbolicLink()).toBe(true)
    })

    test('hard: the other name keeps its content', async () => {
      await link(join(out, 'secret'), join(root, 'same'))
      await files.writeFile(root, 'same', 'mine')
      expect(await files.readFile(root, 'same')).toBe('mine')
      expect(treeOf(out)).toEqual({ folder: {}, secret: 'CANARY' })
    })
  })

  describe('a write', () => {
    test('keeps the mode of a file, and gives a new one what the umask leaves', async () => {
      await files.writeFile(root, 'f', 'x')
      expect(modeOf('f')).toBe(0o666 & ~process.umask())
      for (const mode of [0o600, 0o755, 0o666, 0o640]) {
        await chmod(join(root, 'f'), mode)
        await files.writeFile(root, 'f', 'y')
        expect(modeOf('f')).toBe(mode)
      }
      const before = process.umask(0o027)
      try {
        await files.writeFile(root, 'deep/g', 'x')
        expect([modeOf('deep/g'), modeOf('deep')]).toEqual([0o640, 0o750])
      } finally {
        process.umask(before)
      }
    })

    test('does not pass on the set-user-id bit of a program', async () => {
      await files.writeFile(root, 'f', 'x')
      await chmod(join(root, 'f'), 0o4755)
      await files.writeFile(root, 'f', 'y')
      expect(modeOf('f')).toBe(0o755)
    })

    test.skipIf(!isRoot)('keeps the owner where it may (skipped unless root)', async () => {
      await files.writeFile(root, 'f', 'x')
      await chown(join(root, 'f'), 65534, 65533)
      await files.writeFile(root, 'f', 'y')
      expect(statSync(join(root, 'f'))).toMatchObject({ uid: 65534, gid: 65533 })
    })

    test('FS-18 goes to a private file of a random name first, which never stays', async () => {
      const names = new Set<string>()
      const content = 'x'.repeat(30_000_000)
      for (let i = 0; i < 3; i++) {
        let isDone = false
        const writing = files.writeFile(root, 'f', content).finally(() => (isDone = true))
        for (let turns = 0; turns < 1e6 && !isDone; turns++) {
          const name = readdirSync(root).find((name) => name !== 'f')
          const stats = name && lstatSync(join(root, name), { throwIfNoEntry: false })
          // At its full size it may have its final mode already.
          if (stats && stats.size < content.length) names.add(`${name} ${(stats.mode & 0o777).toString(8)}`)
          await new Promise((resolve) => setImmediate(resolve))
        }
        await writing
      }
      expect(names.size).toBeGreaterThan(1)
      for (const name of names) expect(name).toMatch(/^\.[0-9a-f-]{36}\.tmp 600$/)
      expect(readdirSync(root)).toEqual(['f'])
    })

    test.skipIf(!byDescriptor)('does not end in a folder that was moved out while it was written', async () => {
      await files.writeFile(root, 'd/f', 'old')
      let isDone = false
      const writing = codeOf(files.writeFile(root, 'd/f', 'x'.repeat(30_000_000))).finally(() => (isDone = true))
      const hasBegun = () => readdirSync(join(root, 'd')).length > 1
      while (!isDone && !hasBegun()) await new Promise((resolve) => setImmediate(resolve))
      await rename(join(root, 'd'), join(out, 'd'))
      expect(await writing).toBe('EOUTSIDE')
      expect(treeOf(join(out, 'd'))).toEqual({ f: 'old' })
    })

    test('with a stamp happens only while the file is the one that was looked at', async () => {
      expect(await codeOf(files.writeFile(root, 'f', 'x', { ifStamp: 'any' }))).toBe('ESTALE')
      await files.writeFile(root, 'f', 'one', { ifStamp: null })
      expect(await codeOf(files.writeFile(root, 'f', 'two', { ifStamp: null }))).toBe('ESTALE')
      const { stamp } = await files.stat(root, 'f')
      await files.writeFile(root, 'f', 'two', { ifStamp: stamp })
      const error = await errorOf(files.writeFile(root, 'f', 'three', { ifStamp: stamp }))
      expect(error).toMatchObject({ code: 'ESTALE', message: expect.stringContaining('was changed since') })
      const opened = await files.openFile(root, 'f')
      await opened.close()
      await writeFile(join(root, 'f'), 'two')
      expect(await codeOf(files.writeFile(root, 'f', 'x', { ifStamp: opened.info.stamp }))).toBe('ESTALE')
      await symlink('f', join(root, 'link'))
      const { stamp: through } = await files.stat(root, 'link')
      await files.writeFile(root, 'link', 'six', { ifStamp: through })
      expect(treeOf(root)).toEqual({ f: 'six', link: 'six' })
      await unlink(join(root, 'f'))
      expect(await codeOf(files.writeFile(root, 'f', 'x', { ifStamp: through }))).toBe('ESTALE')
    })

    test('of many at once with one stamp only one happens, and so of many that want to make a file', async () => {
      const race = async (ifStamp: string | null) => {
        const works = Array.from({ length: 20 }, (_, i) => files.writeFile(root, 'f', `by ${i}`, { ifStamp }))
        const outcomes = await Promise.allSettled(works)
        expect(
          outcomes
            .filter(({ status }) => status === 'rejected')
            .every((o) => 'reason' in o && o.reason.code === 'ESTALE'),
        ).toBe(true)
        const winners = outcomes.flatMap(({ status }, i) => (status === 'fulfilled' ? [`by ${i}`] : []))
        expect(winners).toEqual([await files.readFile(root, 'f')])
        expect(readdirSync(root)).toEqual(['f'])
      }
      await race(null)
      await race((await files.stat(root, 'f')).stamp)
    })

    test('is never seen half done, and a reader never misses the file', async () => {
      const texts = ['a'.repeat(200_000), 'b'.repeat(100_000)] as const
      await files.writeFile(root, 'f', texts[0])
      let isWriting = true
      const writing = (async () => {
        for (let i = 0; i < 40; i++) await files.writeFile(root, 'f', texts[i % 2 ? 0 : 1])
        isWriting = false
      })()
      for (let i = 0; i < 10_000 && isWriting; i++) {
        expect(texts.includes((await files.readFile(root, 'f')) as 'a')).toBe(true)
        expect((await files.stat(root, 'f')).path).toBe(join(root, 'f'))
      }
      await writing
    })

    test('that fails leaves nothing behind', async () => {
      await files.writeFile(root, 'f', 'old')
      await mkdir(join(root, 'folder'))
      const failing = [
        () => files.writeFile(root, 'f', 'x', { ifStamp: 'stale' }),
        () => files.writeFile(root, 'f/x', 'x'),
        () => files.writeFile(root, 'folder', 'x'),
        () => files.writeFile(root, '../x', 'x'),
        // @ts-expect-error what a careless caller may pass
        () => files.writeFile(root, 'f', { not: 'text' }),
      ]
      for (const work of failing) expect(await errorOf(work())).toBeInstanceOf(Error)
      expect(treeOf(root)).toEqual({ f: 'old', folder: {} })
    })

    function modeOf(path: string): number {
      return statSync(join(root, path)).mode & 0o7777
    }
  })

  test.skipIf(!isLinux)('no verb leaves a descriptor open, neither when it works nor when it fails', async () => {
    execFileSync('mkfifo', [join(root, 'pipe')])
    await symlink(join(out, 'secret'), join(root, 'link'))
    await symlink('circle', join(root, 'circle'))
    const paths = ['f', 'a/b/c', '.', 'pipe', 'link', 'circle', 'none', 'f/x', '../x', 'link/x', '/proc/self/environ']
    const round = async () => {
      for (const path of paths) for (const run of Object.values(verbs)) await run(path).catch(() => {})
      await files.writeFile(root, 'f', 'x', { ifStamp: 'stale' }).catch(() => {})
    }
    await round()
    const before = readdirSync('/proc/self/fd').length
    for (let i = 0; i < 5; i++) await round()
    // Others in this process may open something meanwhile; a leak would be of dozens.
    expect(readdirSync('/proc/self/fd').length - before).toBeLessThan(10)
  })

  test.skipIf(!isLinux)('a file whose real name says that it was deleted keeps it', async () => {
    await files.writeFile(root, 'f (deleted)', 'x')
    expect((await files.stat(root, 'f (deleted)')).path).toBe(join(root, 'f (deleted)'))
    await mkdir(`${root} (deleted)`)
    await rename(join(place, 'w/proj-evil/x'), `${root} (deleted)/x`)
    expect(await codeOf(files.listFiles(root, `${root} (deleted)`))).toBe('EOUTSIDE')
    expect(await codeOf(files.readFile(root, `${root} (deleted)/x`))).toBe('EOUTSIDE')
  })
}

type Tree = { [name: string]: string | Tree }

/** What is there, links followed. */
function treeOf(folder: string): Tree {
  const entries = readdirSync(folder).map((name) => {
    const path = join(folder, name)
    return [name, statSync(path).isDirectory() ? treeOf(path) : readFileSync(path, 'utf8')] as const
  })
  return Object.fromEntries(entries)
}

async function errorOf(work: Promise<unknown>): Promise<Error> {
  try {
    await work
  } catch (error) {
    return error as Error
  }
  throw new Error('it must fail and did not')
}

async function codeOf(work: Promise<unknown>): Promise<unknown> {
  try {
    await work
    return 'it worked'
  } catch (error) {
    return (error as NodeJS.ErrnoException).code
  }
}
