import { mkdirSync, mkdtempSync, realpathSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { holdMounts, notInPlace } from './held-mounts.ts'

describe.skipIf(process.platform !== 'linux')('what a sandbox is to show is held', () => {
  test('what is still there is in its place, as a process sees it', () => {
    const { folder, held } = holding('a', 'file')
    expect([folder, held.misplaced(process.pid), notInPlace(held, process.pid)]).toEqual([folder, undefined, undefined])
  })

  test.each<[what: string, change: (folder: string) => void]>([
    ['a link', (folder) => symlinkSync('b', join(folder, 'a'))],
    ['another folder', (folder) => mkdirSync(join(folder, 'a'))],
    ['nothing', () => {}],
  ])('%s in the place of a folder is found', (_, change) => {
    const { folder, held } = holding('a', 'file')
    renameSync(join(folder, 'a'), join(folder, 'old'))
    change(folder)
    expect(held.misplaced(process.pid)).toBe(join(folder, 'a'))
    expect(notInPlace(held, process.pid)).toMatchObject({ code: 'ENOSANDBOX', message: expect.stringContaining('/a') })
  })

  test('what comes back is the same', () => {
    const { folder, held } = holding('a')
    renameSync(join(folder, 'a'), join(folder, 'old'))
    renameSync(join(folder, 'old'), join(folder, 'a'))
    expect(held.misplaced(process.pid)).toBeUndefined()
  })

  test('a path that is missing or no real path any more is refused, and where nothing can be looked at nothing begins', () => {
    const { folder, held } = holding('a')
    symlinkSync('a', join(folder, 'link'))
    for (const name of ['none', 'file/x', 'link', 'link/in.txt'])
      expect(() => holdMounts([join(folder, name)]), name).toThrow(/something else was put in the place of/)
    expect(notInPlace(held, undefined)?.message).toContain('which process')
  })
})

function holding(...names: readonly string[]) {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'libero-held-test-')))
  for (const name of ['a', 'b']) mkdirSync(join(folder, name))
  writeFileSync(join(folder, 'a/in.txt'), '')
  writeFileSync(join(folder, 'file'), '')
  const held = holdMounts(names.map((name) => join(folder, name)))
  onTestFinished(() => {
    held.end()
    rmSync(folder, { recursive: true, force: true })
  })
  return { folder, held }
}
