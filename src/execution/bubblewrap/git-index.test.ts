import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { gitLinksIn } from './git-index.ts'

const folder = mkdtempSync(join(tmpdir(), 'libero-git-index-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const long = `deep/${'x'.repeat(5000)}`

/** An index that git itself makes. */
function indexOf(paths: readonly string[], { settings = [] as readonly string[], format = 'sha1' } = {}): Buffer {
  const at = mkdtempSync(join(folder, 'r-'))
  const hash = 'a'.repeat(format === 'sha256' ? 64 : 40)
  const own = settings.flatMap((one) => ['-c', one])
  const git = (args: readonly string[], input = ''): void =>
    void execFileSync('git', [...own, ...args], { cwd: at, input, stdio: ['pipe', 'ignore', 'ignore'] })
  git(['init', '-q', `--object-format=${format}`])
  const modes = paths.map((path) => `${path.startsWith('link') ? '160000' : '100644'} ${hash}\t${path}`)
  git(['update-index', '--add', '--index-info'], `${modes.join('\n')}\n`)
  return readFileSync(join(at, '.git/index'))
}

const names = ['a', 'link', 'link-b/with a blank', 'link-é', long, 'z', 'zz/y']
const links = ['link', 'link-b/with a blank', 'link-é']

describe('the repositories that an index lists', () => {
  test.each([2, 4])('are read from version %d', (version) => {
    const index = indexOf(names, { settings: [`index.version=${version}`] })
    expect(index.readUInt32BE(4)).toBe(version)
    expect(gitLinksIn(index, 20)).toEqual({ paths: links, isWhole: true })
  })

  test('are read where hashes are longer', () => {
    expect(gitLinksIn(indexOf(names, { format: 'sha256' }), 32)).toEqual({ paths: links, isWhole: true })
  })

  test('are read from a large one, which is divided into blocks', () => {
    const many = Array.from({ length: 25_000 }, (_, i) => (i % 5000 === 0 ? `link${i}` : `file${i}`))
    for (const version of [2, 4]) {
      const index = indexOf(many, { settings: [`index.version=${version}`, 'index.threads=2'] })
      expect(index.includes('IEOT')).toBe(true)
      expect(gitLinksIn(index, 20)).toEqual({
        paths: many.filter((one) => one.startsWith('link')).sort(),
        isWhole: true,
      })
      const at = index.lastIndexOf('IEOT') + 12
      index.writeUInt32BE(index.readUInt32BE(at + 8) + 4, at + 8)
      expect(gitLinksIn(index, 20).isWhole).toBe(false)
    }
  })

  test('are not all known where the index is damaged, or says of itself what is not so', () => {
    const index = indexOf(names)
    for (const length of [0, 4, 11, 40, 100, 200]) expect(gitLinksIn(index.subarray(0, length), 20).isWhole).toBe(false)
    expect(gitLinksIn(Buffer.from(`PACK${index.toString('latin1', 4)}`, 'latin1'), 20).isWhole).toBe(false)
    const shorter = Buffer.from(index)
    const flags = shorter.indexOf('link\0') - 2
    shorter.writeUInt16BE(2, flags)
    expect(gitLinksIn(shorter, 20).isWhole).toBe(false)
    const noText = Buffer.from(index)
    noText[noText.indexOf('link\0')] = 0xff
    expect(gitLinksIn(noText, 20).isWhole).toBe(false)
  })
})
