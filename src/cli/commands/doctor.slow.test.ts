import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { fakeIo, runLibero } from '../../../test/cli/fake-io.ts'
import { checks } from '../doctor/doctor.ts'

const env = { PATH: process.env.PATH, LANG: 'C.UTF-8' }

test('all checks run, and a machine without a key or a network passes', async () => {
  const { code, out, err } = await runLibero(['doctor'], fakeIo({ env }))
  expect({ code, err }).toEqual({ code: 0, err: '' })
  for (const { name } of checks) expect(out).toMatch(new RegExp(`^(ok|missing|broken) +${name} {2}`, 'm'))
  expect(out).toMatch(/\n\n(Libero works|Everything works)\b.*\n$/)
  expect(out).not.toContain('\u001b')
})

test('--json reports the same, and each finding that is not ok has a fix', async () => {
  const { code, out } = await runLibero(['doctor', '--json'], fakeIo({ env }))
  const report = JSON.parse(out)
  expect({ code, ok: report.ok }).toEqual({ code: 0, ok: true })
  expect(report.checks.map(({ name }: { name: string }) => name)).toEqual(checks.map(({ name }) => name))
  for (const { state, fix } of report.checks) expect(fix === undefined).toBe(state === 'ok')
})

test('unusable settings mean exit code 1, and the other checks still run', async () => {
  const io = fakeIo({ env })
  mkdirSync(io.home, { mode: 0o700 })
  writeFileSync(join(io.home, 'config.json'), JSON.stringify({ mode: '\u001b[2Jparty' }))
  const { code, out } = await runLibero(['doctor'], io)
  expect(code).toBe(1)
  expect(out).toMatch(/^broken {3}settings +.*config\.json: mode cannot be/m)
  expect(out).toMatch(/^ok +sessions/m)
  expect(out).toMatch(/Libero cannot work yet; fix first: settings\n$/)
  expect(out).not.toContain('\u001b')
  expect(existsSync(join(io.home, 'sessions.db'))).toBe(false)
})
