import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { fakeIo, runLibero } from '../../../test/cli/fake-io.ts'
import { checks } from '../doctor/doctor.ts'

const env = { PATH: process.env.PATH, LANG: 'C.UTF-8' }

test('everything is looked at, and a machine without a key or a network is fine', async () => {
  const { code, out, err } = await runLibero(['doctor'], fakeIo({ env }))
  expect({ code, err }).toEqual({ code: 0, err: '' })
  for (const { name } of checks) expect(out).toMatch(new RegExp(`^(ok|missing|broken) +${name} {2}`, 'm'))
  expect(out).toMatch(/\n\n(Libero works|Everything works)\b.*\n$/)
  expect(out).not.toContain('\u001b')
})

test('as JSON it says the same, and whatever is not ok comes with what mends it', async () => {
  const { code, out } = await runLibero(['doctor', '--json'], fakeIo({ env }))
  const report = JSON.parse(out)
  expect({ code, ok: report.ok }).toEqual({ code: 0, ok: true })
  expect(report.checks.map(({ name }: { name: string }) => name)).toEqual(checks.map(({ name }) => name))
  for (const { state, fix } of report.checks) expect(fix === undefined).toBe(state === 'ok')
})

test('settings that cannot be used are exit code 1, and the rest is looked at all the same', async () => {
  const io = fakeIo({ env })
  mkdirSync(io.home, { mode: 0o700 })
  writeFileSync(join(io.home, 'config.json'), JSON.stringify({ mode: '\u001b[2Jparty' }))
  const { code, out } = await runLibero(['doctor'], io)
  expect(code).toBe(1)
  expect(out).toMatch(/^broken {3}settings +.*config\.json: mode cannot be/m)
  expect(out).toMatch(/^ok +sessions/m)
  expect(out).toMatch(/Libero cannot work yet; mend first: settings\n$/)
  expect(out).not.toContain('\u001b')
  expect(existsSync(join(io.home, 'sessions.db'))).toBe(false)
})
