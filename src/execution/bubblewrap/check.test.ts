import { chmodSync, chownSync, mkdirSync, mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { findBubblewrap, NoSandboxHere, setupProblem } from './check.ts'

const isRoot = process.getuid?.() === 0
if (!isRoot) console.warn('NOT TESTED: folders of other users, which takes root')

const scratch = mkdtempSync(join(tmpdir(), 'libero-check-test-'))
chmodSync(scratch, 0o755)
afterAll(() => rm(scratch, { recursive: true, force: true }))

describe('why a sandbox could not be built', () => {
  test.each([
    'No permissions to create new namespace, likely because the kernel does not allow non-privileged user namespaces.',
    'No permissions to creating new namespace, likely because the kernel does not allow it',
    'Creating new namespace failed: nesting depth or /proc/sys/user/max_*_namespaces exceeded (ENOSPC)',
    'setting up uid map: Permission denied',
    'loopback: Failed RTM_NEWADDR: Operation not permitted',
    "Can't mount proc on /newroot/proc: Operation not permitted",
  ])('user namespaces: %s', (said) => {
    expect(setupProblem(`bwrap: ${said}\n`).message).toContain('user.max_user_namespaces')
  })

  test.each([
    "Can't find source path /home/x/permission/namespace: Permission denied",
    "Can't bind mount /oldroot/a on /newroot/a: Operation not permitted",
    'execvp /bin/bash: Permission denied',
  ])('something else: %s', (said) => {
    const { message } = setupProblem(`bwrap: ${said}\n`)
    expect(message).toContain(said)
    expect(message).not.toContain('sysctl')
  })
})

test.each<[said: string, isLasting: boolean]>([
  ['No permissions to create new namespace, likely because the kernel does not allow it', true],
  ['setting up uid map: Permission denied', true],
  ['Creating new namespace failed: Resource temporarily unavailable', false],
  ['Creating new namespace failed: nesting depth or /proc/sys/user/max_*_namespaces exceeded (ENOSPC)', false],
  ['setting up uid map: Cannot allocate memory', false],
  ["Can't create file /newroot/a: No space left on device", false],
  ['', false],
])('what bubblewrap says tells whether there will be no sandbox later either: %s', (said, isLasting) => {
  expect(setupProblem(`bwrap: ${said}\n`) instanceof NoSandboxHere).toBe(isLasting)
})

test.skipIf(!isRoot)('a root that only another user may enter is refused, and it is said what to do', async () => {
  const theirs = join(scratch, 'theirs')
  mkdirSync(join(theirs, 'project'), { recursive: true })
  chmodSync(theirs, 0o700)
  chownSync(theirs, 12_345, 12_345)
  const find = (root: string) => findBubblewrap(process.execPath, [root])
  for (const root of [theirs, join(theirs, 'project'), join(theirs, 'new')])
    await expect(find(root)).rejects.toThrow(
      `The folder ${theirs} belongs to another user (uid 12345), who gives others no access`,
    )
  await expect(find(theirs)).rejects.toThrow(/Run this as that user, or give it to root: `chown -R root /)
  chmodSync(theirs, 0o711)
  expect(await find(theirs)).toMatchObject({ path: process.execPath })
})
