import { chmod, mkdir, mkdtemp, readFile, realpath, rename, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { fakeClock } from '../../testing/fake-clock.ts'
import { createTrustList } from './trust-list.ts'

async function places() {
  const base = await realpath(await mkdtemp(join(tmpdir(), 'libero-trust-')))
  onTestFinished(() => rm(base, { recursive: true, force: true }))
  const project = join(base, 'project')
  const folder = join(base, 'config')
  await mkdir(project)
  const clock = fakeClock(Date.UTC(2030, 0, 1))
  return { base, project, folder, clock, list: createTrustList({ folder, clock }) }
}

describe('stored content', () => {
  test('an unknown folder has no entry, and asking leaves no file behind', async () => {
    const { project, folder, list } = await places()
    expect(await list.lookup(project)).toBeUndefined()
    await expect(stat(folder)).rejects.toThrow('ENOENT')
  })

  test('trust is stored readable only by its owner, with everything that identifies the folder', async () => {
    const { project, folder, list } = await places()
    await list.trust(project, { items: { 'AGENTS.md': 'd1' }, note: 'mine' })
    const info = await stat(project, { bigint: true })
    expect(JSON.parse(await readFile(list.path, 'utf8'))).toEqual({
      entries: [
        {
          canonicalPath: project,
          device: String(info.dev),
          inode: String(info.ino),
          decision: 'trusted',
          grantedAt: '2030-01-01T00:00:00.000Z',
          schemaVersion: 1,
          note: 'mine',
          items: { 'AGENTS.md': 'd1' },
        },
      ],
    })
    expect((await stat(list.path)).mode & 0o777).toBe(0o600)
    expect((await stat(folder)).mode & 0o777).toBe(0o700)
  })

  test('granting twice keeps the first time and takes the newer items', async () => {
    const { project, clock, list } = await places()
    await list.trust(project, { items: { a: '1', b: '1' } })
    await clock.advance(5000)
    await list.trust(project, { items: { a: '2' } })
    expect(await list.list()).toMatchObject([{ grantedAt: '2030-01-01T00:00:00.000Z', items: { a: '2' } }])
    expect((await list.lookup(project))?.items).toEqual({ a: '2' })
  })

  test('revoking appends a decline, and the newest decision holds', async () => {
    const { project, list } = await places()
    await list.trust(project)
    expect(await list.revoke(project)).toBe(true)
    expect(await list.revoke(project)).toBe(false)
    expect((await list.list()).map(({ decision }) => decision)).toEqual(['trusted', 'declined'])
    expect(await list.lookup(project)).toMatchObject({ decision: 'declined' })
    await list.trust(project)
    expect((await list.list()).map(({ decision }) => decision)).toEqual(['trusted', 'declined', 'trusted'])
    expect((await list.lookup(project))?.decision).toBe('trusted')
  })

  test('items added after a revocation are not recorded', async () => {
    const { project, list } = await places()
    await list.trust(project, { items: { a: '1' } })
    expect((await list.amend(project, { b: '1' }))?.items).toEqual({ a: '1', b: '1' })
    await list.revoke(project)
    expect(await list.amend(project, { c: '1' })).toBeUndefined()
    expect((await list.lookup(project))?.decision).toBe('declined')
  })

  test('trust of a deleted folder can be revoked', async () => {
    const { project, base, list } = await places()
    await list.trust(project)
    await rename(project, join(base, 'moved'))
    expect(await list.revoke(project)).toBe(true)
    await rename(join(base, 'moved'), project)
    expect((await list.lookup(project))?.decision).toBe('declined')
  })

  test('decisions made at the same time are all kept', async () => {
    const { base, list, folder } = await places()
    const projects = Array.from({ length: 12 }, (_, i) => join(base, `p${i}`))
    await Promise.all(projects.map((project) => mkdir(project)))
    await Promise.all(projects.map((project) => createTrustList({ folder }).trust(project)))
    expect((await list.list()).map(({ canonicalPath }) => canonicalPath).sort()).toEqual(projects.toSorted())
  })
})

describe('which folder is meant', () => {
  test('a link to a trusted folder is that folder', async () => {
    const { base, project, list } = await places()
    await symlink(project, join(base, 'link'))
    await list.trust(join(base, 'link'))
    expect((await list.lookup(project))?.decision).toBe('trusted')
  })

  test('another folder at a trusted path is not trusted, and the old one at another path is not either', async () => {
    const { base, project, list } = await places()
    await list.trust(project)
    await rename(project, join(base, 'old'))
    await mkdir(project)
    expect(await list.lookup(project)).toBeUndefined()
    expect(await list.lookup(join(base, 'old'))).toBeUndefined()
  })

  test('TR-08 a folder inside a trusted one has a decision of its own, a repository or not', async () => {
    const { base, project, list } = await places()
    for (const inside of ['vendor', 'vendor/clone', 'vendor/clone/.git', 'vendor/clone/.libero'])
      await mkdir(join(project, inside))
    await list.trust(project)
    expect(await list.lookup(join(project, 'vendor'))).toBeUndefined()
    expect(await list.lookup(join(project, 'vendor/clone'))).toBeUndefined()
    expect(await list.lookup(base)).toBeUndefined()
  })

  test.each(['where it is', 'under the folder for temporary files'])(
    'T11 the root, the home folder (%s) and the folder for temporary files cannot be trusted',
    async (where) => {
      const { list, base } = await places()
      const { HOME = homedir() } = process.env
      process.env.HOME = where === 'where it is' ? HOME : base
      onTestFinished(() => void (process.env.HOME = HOME))
      const refused = { '/': 'root of', [homedir()]: 'home folder', [tmpdir()]: 'for temporary files' }
      for (const [path, reason] of Object.entries(refused)) {
        await expect(list.trust(path)).rejects.toMatchObject({ class: 'Validation', code: 'TrustScopeViolation' })
        await expect(list.trust(path)).rejects.toThrow(reason)
        expect(await list.lookup(path)).toBeUndefined()
      }
      await expect(stat(list.path)).rejects.toThrow('ENOENT')
    },
  )

  test('a list inside a project is refused, whatever it says', async () => {
    const { project, folder, list } = await places()
    const inside = createTrustList({ folder: join(project, '.libero') })
    await expect(inside.trust(project)).rejects.toThrow('TrustScopeViolation')
    await list.trust(project)
    await rename(folder, join(project, '.libero'))
    expect(await inside.list()).toHaveLength(1)
    expect(await inside.lookup(project)).toBeUndefined()
    await mkdir(join(project, '.libero/tools'))
    await expect(inside.trust(join(project, '.libero/tools'))).rejects.toThrow('where the trust list is kept')
  })

  test('a path that is not a folder is reported', async () => {
    const { project, list } = await places()
    await writeFile(join(project, 'file'), '')
    for (const name of ['file', 'nothing'])
      await expect(list.lookup(join(project, name))).rejects.toMatchObject({ code: 'ProjectNotFound' })
  })
})

describe('a list that cannot be relied on', () => {
  const entry = { canonicalPath: '/p', device: '1', inode: '1', decision: 'trusted', grantedAt: '', schemaVersion: 1 }
  const broken = {
    'cut off': '{"entries": [',
    'no list': '{}',
    null: 'null',
    'an unknown version': JSON.stringify({ entries: [{ ...entry, schemaVersion: 2 }] }),
    'an unknown decision': JSON.stringify({ entries: [{ ...entry, decision: 'maybe' }] }),
    'items that are no digests': JSON.stringify({ entries: [{ ...entry, items: { a: 1 } }] }),
  }
  for (const [name, text] of Object.entries(broken))
    test(`${name}: neither used nor changed`, async () => {
      const { project, folder, list } = await places()
      await mkdir(folder, { mode: 0o700 })
      await writeFile(list.path, text, { mode: 0o600 })
      for (const verb of ['lookup', 'trust', 'decline', 'revoke'] as const)
        await expect(list[verb](project)).rejects.toMatchObject({ class: 'Validation', code: 'TrustListUnusable' })
      expect(await readFile(list.path, 'utf8')).toBe(text)
    })

  test('a file that others can read or write is refused', async () => {
    const { project, list } = await places()
    await list.trust(project)
    await chmod(list.path, 0o644)
    await expect(list.lookup(project)).rejects.toThrow(`chmod 600 ${list.path}`)
    await expect(list.trust(project)).rejects.toThrow('mode 644')
  })

  test('a folder that others can write to is refused', async () => {
    const { project, folder, list } = await places()
    await list.trust(project)
    await chmod(folder, 0o777)
    await expect(list.lookup(project)).rejects.toThrow(`chmod 700 ${folder}`)
  })

  test('a link instead of the file or of the folder is refused, and its target stays unchanged', async () => {
    const { base, project, folder, list } = await places()
    await list.trust(project)
    await rename(list.path, join(base, 'elsewhere.json'))
    const text = await readFile(join(base, 'elsewhere.json'), 'utf8')
    await symlink(join(base, 'elsewhere.json'), list.path)
    await expect(list.lookup(project)).rejects.toThrow('is a link')
    await expect(list.decline(project)).rejects.toThrow('is a link')
    expect(await readFile(join(base, 'elsewhere.json'), 'utf8')).toBe(text)
    await rm(list.path)
    await rename(folder, join(base, 'real-config'))
    await symlink(join(base, 'real-config'), folder)
    await expect(list.lookup(project)).rejects.toThrow('is a link')
  })
})

describe('watching', () => {
  test('a decision of another process is noticed within 5 s, once', async () => {
    const { project, folder, clock, list } = await places()
    await list.trust(project)
    const heard: unknown[] = []
    const stop = list.watch(project, 'trusted', (now) => heard.push(now))
    await clock.advance(2000)
    await vi.waitFor(() => expect(clock.pending).toBe(1))
    expect(heard).toEqual([])
    await createTrustList({ folder }).revoke(project)
    await clock.advance(2000)
    await vi.waitFor(() => expect(heard).toEqual(['declined']))
    await vi.waitFor(() => expect(clock.pending).toBe(1))
    await clock.advance(2000)
    await vi.waitFor(() => expect(clock.pending).toBe(1))
    expect(heard).toEqual(['declined'])
    stop()
    expect(clock.pending).toBe(0)
  })

  test('a list that becomes invalid counts as empty', async () => {
    const { project, clock, list } = await places()
    await list.trust(project)
    const heard: unknown[] = []
    onTestFinished(list.watch(project, 'trusted', (now) => heard.push(now)))
    await writeFile(list.path, 'oops')
    await clock.advance(2000)
    await vi.waitFor(() => expect(heard).toEqual([undefined]))
  })
})
