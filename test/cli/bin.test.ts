import { spawnSync } from 'node:child_process'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, test } from 'vitest'

let scratch: string
beforeEach(() => {
  scratch = mkdtempSync(join(tmpdir(), 'libero-bin-'))
  for (const folder of ['my app/bin', 'my app/src/cli', 'home', 'tmp', 'elsewhere'])
    mkdirSync(join(scratch, folder), { recursive: true })
  copyFileSync(fileURLToPath(new URL('../../bin/libero.js', import.meta.url)), join(scratch, 'my app/bin/libero.js'))
  writeFileSync(join(scratch, 'my app/package.json'), '{ "type": "module" }')
  writeFileSync(join(scratch, 'my app/src/cli/main.ts'), `console.log('source' as string, ...process.argv.slice(2))`)
  // As npm installs it.
  symlinkSync('my app/bin/libero.js', join(scratch, 'libero'))
})
afterEach(() => rmSync(scratch, { recursive: true, force: true }))

function libero(args: readonly string[], { home = join(scratch, 'home'), flags = [] as readonly string[] } = {}) {
  const env = { HOME: home, TMPDIR: join(scratch, 'tmp') }
  const cwd = join(scratch, 'elsewhere')
  const { status, stdout, stderr } = spawnSync(process.execPath, [...flags, join(scratch, 'libero'), ...args], {
    cwd,
    env,
    encoding: 'utf8',
    timeout: 15_000,
  })
  return { status, stdout, stderr: stderr.trim() }
}

test('through a link, from another folder, with blanks in its path, it finds the build, else the source', () => {
  expect(libero(['a b', '--x'])).toEqual({ status: 0, stdout: 'source a b --x\n', stderr: '' })
  mkdirSync(join(scratch, 'my app/dist/cli'), { recursive: true })
  writeFileSync(join(scratch, 'my app/dist/cli/main.js'), `console.log('built', ...process.argv.slice(2))`)
  expect(libero(['a b', '--x'])).toEqual({ status: 0, stdout: 'built a b --x\n', stderr: '' })
})

test('with a Node that is too old it prints one sentence with the next step', () => {
  const old = `Object.defineProperty(process, 'versions', { value: { node: '22.17.9' } })`
  const { status, stdout, stderr } = libero([], { flags: ['--import', `data:text/javascript,${old}`] })
  expect({ status, stdout }).toEqual({ status: 1, stdout: '' })
  expect(stderr).toMatch(/^libero needs Node 22\.18 or newer and this is v[\d.]+; install a newer Node.*$/)
})

test('the compile cache is in the user’s own folder, never where others or a project could write', () => {
  libero([])
  expect(existsSync(join(scratch, 'home/.cache/libero'))).toBe(true)
  libero([], { home: '' })
  expect(['tmp', 'elsewhere'].flatMap((folder) => readdirSync(join(scratch, folder)))).toEqual([])
})
