import { lstatSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { createPrivateFolder, privateFoldersRoot } from './private-folder.ts'

const uid = process.getuid?.()

describe.skipIf(uid === undefined)('the private folder of sandboxes', () => {
  test.each<[what: string, squat: (path: string) => void]>([
    ['a folder that others may open', (path) => mkdirSync(path, { mode: 0o755 })],
    ['a link', (path) => symlinkSync(dirname(path), path)],
    ['a link to nothing', (path) => symlinkSync('/nowhere', path)],
    ['a file', (path) => writeFileSync(path, '')],
  ])('another one is used where %s has its name, by all that follow', async (_, squat) => {
    const folder = temporary()
    const usual = join(folder, `libero-sandboxes-${uid}`)
    squat(usual)
    const first = createPrivateFolder(new Uint8Array())
    const root = privateFoldersRoot()
    expect(root).toMatch(/\/libero-sandboxes-\d+-\w+$/)
    expect(first.temporary.startsWith(`${root}/`)).toBe(true)
    expect(lstatSync(root).mode & 0o077).toBe(0)
    const second = createPrivateFolder(new Uint8Array())
    expect(privateFoldersRoot()).toBe(root)
    await Promise.all([first.remove(), second.remove()])
    expect(readdirSync(folder)).toEqual([`libero-sandboxes-${uid}`])
  })

  test('the usual one is used otherwise', async () => {
    const folder = temporary()
    const { temporary: inside, remove } = createPrivateFolder(new Uint8Array())
    expect(inside.startsWith(join(folder, `libero-sandboxes-${uid}/`))).toBe(true)
    await remove()
    expect(readdirSync(folder)).toEqual([])
  })
})

/** The folder for temporary files of one test. */
function temporary(): string {
  const folder = mkdtempSync(join(tmpdir(), 'libero-private-test-'))
  vi.stubEnv('TMPDIR', folder)
  onTestFinished(() => {
    vi.unstubAllEnvs()
    rmSync(folder, { recursive: true, force: true })
  })
  return folder
}
