import { execFileSync } from 'node:child_process'
import { rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect } from 'vitest'
import { skipped, unavailable } from '../../../test/bubblewrap-kit.ts'
import { confinedPlace, readOnly, write } from '../../../test/confinement-kit.ts'
import { testInTurns } from '../../../test/soak.ts'
import { temporary } from '../../../test/temporary.ts'
import { createHiddenFiles } from './hidden-files.ts'

const test = testInTurns(2)

describe('what rules hide is found', () => {
  test('a star stands for any characters, slashes too, and all else for itself', async () => {
    const cwd = await temporary('hidden-')
    write(cwd, { '.env': '', 'a/.env': '', 'a/b/key.pem': '', 'a/b/xpem': '', '(x)/[1].txt': '', 'a/.envx': '' })
    const find = findIn(cwd)
    expect(await find(`${cwd}/*/.env`)).toEqual(['a/.env'])
    expect(await find(`${cwd}*.env`)).toEqual(['.env', 'a/.env'])
    expect(await find(`${cwd}/*.pem`)).toEqual(['a/b/key.pem'])
    expect(await find(`${cwd}/a*`)).toEqual(['a'])
    expect(await find(`${cwd}/(x)/[*`, `${cwd}/.env`, `${cwd}/missing`)).toEqual(['(x)/[1].txt', '.env'])
    expect(await find(`${cwd}/*`)).toEqual(['(x)', '.env', 'a'])
    expect(await find('/elsewhere/*')).toEqual([])
  })

  test('a new file is found, in a package after the next installation at the latest; one that is gone is not', async () => {
    const cwd = await temporary('hidden-')
    write(cwd, { 'a/x': '', 'node_modules/p/.env': '', 'node_modules/.package-lock.json': '' })
    const find = findIn(cwd)
    expect(await find(`${cwd}/*.env`)).toEqual(['node_modules/p/.env'])
    write(cwd, { 'a/.env': '', 'node_modules/q/.env': '', 'node_modules/.package-lock.json': '{}' })
    expect(await find(`${cwd}/*.env`)).toEqual(['a/.env', 'node_modules/p/.env', 'node_modules/q/.env'])
    rmSync(join(cwd, 'a/.env'))
    expect(await find(`${cwd}/*/a/.env`, `${cwd}/a/*`)).toEqual(['a/x'])
  })

  test('S08 a folder that is called objects like that of git is searched as any other', async () => {
    const cwd = await temporary('hidden-')
    write(cwd, { 'objects/a/x': '' })
    const find = findIn(cwd)
    expect(await find(`${cwd}/*.env`)).toEqual([])
    write(cwd, { 'objects/a/.env': '' })
    expect(await find(`${cwd}/*.env`)).toEqual(['objects/a/.env'])
  })

  test('the target of a link is hidden, and a pipe with a name is, which no read-only mount closes', async () => {
    const cwd = await temporary('hidden-')
    write(cwd, { 'config/real': '' })
    symlinkSync('config/real', join(cwd, '.env'))
    execFileSync('mkfifo', [join(cwd, 'pipe')])
    expect(await findIn(cwd)(`${cwd}/*.env`)).toEqual(['config/real', 'pipe'])
  })

  test('too many hidden files are refused rather than shown', async () => {
    const cwd = await temporary('hidden-')
    for (let n = 0; n < 400; n++) writeFileSync(join(cwd, `${n}.key`), '')
    await expect(findIn(cwd)(`${cwd}/*.key`)).rejects.toThrow('rules hide 400 files, at most 300')
  })
})

describe.skipIf(unavailable)(`hidden files in a sandbox${skipped}`, () => {
  test('they cannot be read by any name, and neither can the folders', async () => {
    const { cwd, run } = await confinedPlace()
    write(cwd, { '.env': 'canary', 'a/secret/x': 'canary', 'open.txt': 'open' })
    symlinkSync('.env', join(cwd, 'alias'))
    const hidden = [`${cwd}/.env`, `${cwd}/*/secret`]
    const command =
      'cat open.txt .env alias ./a/../.env a/secret/x; grep -rs canary .; cat .e*; tar cf - . | grep -a canary'
    expect((await run(command, { hidden })).stdout).toBe('open')
    expect((await run(command, { hidden, profile: 'workspace-write' })).stdout).toBe('open')
    expect((await run('cat .env', readOnly)).stdout).toBe('canary')
  })

  test('what cannot be searched is refused, and nothing runs', async () => {
    const { cwd, run } = await confinedPlace()
    for (let n = 0; n < 400; n++) writeFileSync(join(cwd, `${n}.key`), '')
    for (const profile of ['read-only', 'workspace-write'] as const)
      await expect(run('touch x', { profile, hidden: [`${cwd}/*.key`] })).rejects.toMatchObject({
        code: 'ENOSANDBOX',
        message: expect.stringContaining('rules hide 400 files'),
      })
  })
})

function findIn(cwd: string): (...patterns: string[]) => Promise<string[]> {
  const files = createHiddenFiles()
  return async (...patterns) => {
    const { hidden } = await files.find(patterns, { projects: [cwd], programs: [] })
    return hidden.map(({ path }) => path.slice(cwd.length + 1)).sort()
  }
}
