import { chmodSync, existsSync, mkdirSync, mkdtempSync, realpathSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, onTestFinished, test } from 'vitest'
import { readOnly } from '../../../test/confinement-kit.ts'
import { seatbeltRules } from '../../../test/sandbox/seatbelt-rules.ts'
import { createSeatbeltCommands, probeSeatbelt } from './seatbelt-commands.ts'

const scratch = realpathSync(mkdtempSync(join(tmpdir(), 'libero-seatbelt-test-')))
afterAll(() => rm(scratch, { recursive: true, force: true }))

/** A program in the place of `sandbox-exec`. */
function standIn(script: string): string {
  const path = join(mkdtempSync(join(scratch, 'bin-')), 'sandbox-exec')
  writeFileSync(path, `#!/bin/sh\n${script}\n`)
  chmodSync(path, 0o755)
  return path
}

describe.skipIf(process.platform === 'win32')('sandbox-exec', () => {
  test('one that confines nothing is found out by the probe, and there is no sandbox', async () => {
    const problem = await probeSeatbelt(standIn('shift 2; exec "$@"'))
    expect(problem).toMatch(/^a command in it could read the home folder, so .* does not confine commands/)
  })

  test('one that runs nothing, or is missing, is no sandbox either', async () => {
    expect(await probeSeatbelt(standIn('echo "sandbox_apply: denied" >&2; exit 71'))).toBe(
      'it could not be tried: a command did not run in it: sandbox_apply: denied',
    )
    expect(await probeSeatbelt(join(scratch, 'none'))).toBe(
      `there is no ${join(scratch, 'none')}, which is part of macOS`,
    )
  })

  test('gets a profile made for the command, which has a home and a temporary folder of its own', async () => {
    const cwd = mkdtempSync(join(scratch, 'w-'))
    mkdirSync(join(cwd, '.git'))
    writeFileSync(join(cwd, '.git/config'), '')
    const commands = createSeatbeltCommands(
      { cwd, roots: [], home: join(scratch, 'home'), env: [], inheritEnv: [], limits: undefined },
      undefined,
      standIn('cat "$2"; echo "; env"; shift 2; exec "$@"'),
    )
    onTestFinished(() => commands.end())
    const confinement = { ...readOnly, profile: 'workspace-write', hosts: ['registry.example'] } as const
    const { stdout, sandbox } = await commands.run('echo "$TMPDIR $HOME $HTTPS_PROXY"', confinement, {})
    const [profile = '', said = ''] = stdout.split('; env\n')
    const [temporary = '', home = '', proxy = ''] = said.trim().split(' ')
    expect(sandbox).toEqual({ profile: 'workspace-write' })
    expect(home).toBe(join(temporary, 'home'))
    const rules = seatbeltRules(profile)
    const writable = [`${temporary}/x`, `${cwd}/x`, `${cwd}/.git/config`, `${cwd}/.npmrc`, `${scratch}/x`]
    expect(writable.map((path) => rules.allows('file-write-create', path))).toEqual([true, true, false, false, false])
    const port = new URL(proxy).port
    expect(rules.allows('network-outbound', `localhost:${port}`)).toBe(true)
    expect(rules.allows('file-write-unlink', `${cwd}/.git`)).toBe(false)
    await commands.end()
    expect(existsSync(temporary)).toBe(false)
  })
})
