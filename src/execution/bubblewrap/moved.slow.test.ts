import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, vi } from 'vitest'
import { place, skipped, unavailable } from '../../../test/bubblewrap-kit.ts'
import { testInTurns } from '../../../test/soak.ts'

const test = testInTurns(2)

/** Not a folder for temporary files: there a sandbox has its own. */
let base: string
let w: string
let outside: string
beforeEach(() => {
  base = mkdtempSync(fileURLToPath(new URL('../../../node_modules/.libero-moved-', import.meta.url)))
  w = join(base, 'w')
  outside = join(base, 'outside')
  for (const folder of [w, outside]) mkdirSync(folder)
})
afterEach(async () => {
  vi.unstubAllEnvs()
  await rm(base, { recursive: true, force: true })
})

describe.skipIf(unavailable)(`roots that are moved or replaced between commands${skipped}`, () => {
  test('folders above a root inside another root stay where they are', async () => {
    mkdirSync(join(w, 'a/sub'), { recursive: true })
    const { run } = await place({ cwd: w, roots: [w, join(w, 'a/sub')] })
    expect((await run('mv a a2')).stderr).toMatch(/busy/)
    await run('mkdir a; ln -s ../../outside a/sub')
    await run('echo evil > a/sub/x').catch(() => {})
    expect(readdirSync(outside)).toEqual([])
    expect(readFileSync(join(w, 'a/sub/x'), 'utf8')).toBe('evil\n')
  })

  test('a root that another handle replaced by a link is refused', async () => {
    mkdirSync(join(w, 'sub'))
    const wide = await place({ cwd: w })
    const narrow = await place({ cwd: join(w, 'sub') })
    await wide.run('mv sub old; ln -s ../outside sub')
    await expect(narrow.run('echo evil > x')).rejects.toThrow(/sub is no longer the folder/)
    await expect(narrow.context.writeFile(narrow.handle, 'x', 'evil')).rejects.toThrow(/no longer the folder/)
    expect(readdirSync(outside)).toEqual([])
  })

  test('so is one in whose place there is another folder', async () => {
    const { run } = await place({ cwd: w })
    renameSync(w, join(base, 'old'))
    mkdirSync(w)
    await expect(run('true')).rejects.toThrow(/no longer the folder/)
  })

  test('a missing root inside another one is not followed when it becomes a link; else it is made', async () => {
    const { run } = await place({ cwd: w, roots: [w, join(w, 'build')] })
    await run('ln -s ../outside build')
    await run('echo evil > build/x')
    expect(readdirSync(outside)).toEqual([])
    const made = await place({ cwd: join(base, 'new') })
    expect((await made.run('touch x')).exitCode).toBe(0)
    expect(existsSync(join(base, 'new/x'))).toBe(true)
  })
})

describe.skipIf(unavailable)(`hidden and read-only files whose folders are moved${skipped}`, () => {
  test('what is hidden is not read in another place', async () => {
    mkdirSync(join(w, 'a/b'), { recursive: true })
    writeFileSync(join(w, 'a/b/secret'), 'canary')
    const { run } = await place({ cwd: w, hidden: [join(w, 'a/b/secret')] })
    await run('mv a a2; mv a/b a/b2')
    expect((await run('cat */*/secret; grep -r canary .')).stdout).toBe('')
    expect((await run('echo fine > a/b/other; cat a/b/other')).stdout).toBe('fine\n')
  })

  test('nor when the link that named it leads elsewhere', async () => {
    mkdirSync(join(w, 'a'))
    writeFileSync(join(w, 'a/secret'), 'canary')
    symlinkSync('a', join(w, 'link'))
    const { run } = await place({ cwd: w, hidden: [join(w, 'link/secret')] })
    await run('mkdir b; rm link; ln -s b link')
    expect((await run('cat a/secret')).stdout).toBe('')
  })

  test('the usual secrets, when the home is a root', async () => {
    mkdirSync(join(w, '.config/gcloud'), { recursive: true })
    writeFileSync(join(w, '.config/gcloud/key'), 'canary')
    vi.stubEnv('HOME', w)
    const { run } = await place({ cwd: w })
    await run('mv .config c')
    expect((await run('cat c/gcloud/key; grep -r canary .')).stdout).toBe('')
  })

  test('what is read-only is not replaced', async () => {
    mkdirSync(join(w, 'a/vendor'), { recursive: true })
    writeFileSync(join(w, 'a/vendor/x'), 'kept')
    const { run } = await place({ cwd: w, readOnly: [join(w, 'a/vendor')] })
    await run('mv a a2; mkdir -p a/vendor; echo evil > a/vendor/x')
    await run('echo evil > a2/vendor/x; echo evil > a/vendor/x')
    expect(readFileSync(join(w, 'a/vendor/x'), 'utf8')).toBe('kept')
    expect(existsSync(join(w, 'a2'))).toBe(false)
  })

  test('temporary files of another handle, wherever they are kept', async () => {
    const temporary = join(base, 'tmp')
    mkdirSync(temporary)
    vi.stubEnv('TMPDIR', temporary)
    const one = await place({ cwd: w })
    const other = await place({ cwd: outside })
    await one.run('echo canary > /tmp/f')
    expect((await one.run('cat /tmp/f')).stdout).toBe('canary\n')
    expect((await other.run(`grep -r canary ${temporary}; find ${temporary} -name f`)).stdout).toBe('')
    for (const { context, handle } of [one, other]) await context.destroy(handle)
    expect(readdirSync(temporary)).toEqual([])
  })
})
