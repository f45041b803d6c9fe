import { spawnSync } from 'node:child_process'
import { chmodSync, chownSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { nobodyCanRunNode } from '../../../test/as-nobody.ts'
import { fakeIo } from '../../../test/cli/fake-io.ts'

const main = fileURLToPath(new URL('../main.ts', import.meta.url))

// As root nothing is unreadable.
test.skipIf(!nobodyCanRunNode)(
  'a config that cannot be read means one message with the next step, and exit code 2',
  () => {
    const { home, file } = homeOfNobody()
    chmodSync(file, 0)
    const { status, stdout, stderr } = libero(home, 'config')
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' })
    expect(stderr).toMatch(
      /^libero: Cannot read \S+config\.json: you have no permission; `chmod u\+r` it.*\nSee: .*\n$/,
    )
  },
)

test.skipIf(!nobodyCanRunNode)('a folder that cannot be written means one message, exit code 1, and no change', () => {
  const { home } = homeOfNobody()
  chmodSync(home, 0o500)
  const { status, stderr } = libero(home, 'config', 'set', 'maxTurns', '5')
  expect(status).toBe(1)
  expect(stderr).toMatch(/^libero: The setting was not changed: .*\n$/)
})

function homeOfNobody() {
  const { home, userHome } = fakeIo()
  mkdirSync(home)
  const file = join(home, 'config.json')
  writeFileSync(file, '{}')
  for (const path of [userHome, home, file]) chownSync(path, 65534, 65534)
  return { home, file }
}

function libero(home: string, ...args: string[]) {
  return spawnSync(process.execPath, ['--conditions=libero-source', main, ...args], {
    env: { LIBERO_HOME: home },
    cwd: '/',
    uid: 65534,
    gid: 65534,
    encoding: 'utf8',
    timeout: 15_000,
  })
}
