import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { openerFor } from './open-browser.ts'

const url = 'https://a.test/?x=$(touch+canary)&y=`id`;z=%22|"\'&w=1'

test.each([
  ['linux', 'xdg-open', []],
  ['freebsd', 'xdg-open', []],
  ['darwin', '/usr/bin/open', []],
  ['win32', 'D:\\Windows\\System32\\rundll32.exe', ['url.dll,FileProtocolHandler']],
])('on %s the address is one argument of %s', (platform, command, before) => {
  expect(openerFor(platform, url, 'D:\\Windows')).toEqual([command, [...before, new URL(url).href]])
})

test.each(['javascript:alert(1)', 'file:///c:/windows/system32/calc.exe', '--help', 'a.test', ''])(
  '%j is not opened',
  (bad) => {
    expect(() => openerFor('linux', bad)).toThrow('only http and https addresses are opened')
  },
)

describe.runIf(process.platform === 'linux')('with a browser that notes what it is given', () => {
  let folder: string

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'libero-browser-'))
  })

  afterEach(() => rm(folder, { recursive: true, force: true }))

  test('no shell reads the address', async () => {
    const script = '#!/bin/sh\nprintf "%s\\n" "$@" > "$0.part" && /bin/mv "$0.part" "$0.heard"\n'
    await writeFile(join(folder, 'xdg-open'), script, { mode: 0o700 })
    expect(await open()).toBe('opened')
    const heard = (): Promise<string> => readFile(join(folder, 'xdg-open.heard'), 'utf8')
    await expect.poll(() => heard().catch(() => ''), { timeout: 10_000 }).toBe(`${new URL(url).href}\n`)
  })

  test('a machine without a browser causes an error', async () => {
    expect(await open()).toMatch(/ENOENT/)
  })

  async function open(): Promise<string> {
    const module = JSON.stringify(new URL('open-browser.ts', import.meta.url).href)
    const code = `
      import { openBrowser } from ${module}
      await openBrowser(process.argv[1]).then(() => console.log('opened'), (error) => console.log(error.message))`
    const args = ['--input-type=module', '--eval', code, url]
    const { stdout } = await promisify(execFile)(process.execPath, args, { env: { PATH: folder }, cwd: '/' })
    return stdout.trim()
  }
})
