import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { fakeIo } from '../../../test/cli/fake-io.ts'
import { temporary } from '../../../test/temporary.ts'
import { auditPage } from './audit-page.ts'
import { findDecision } from './find-decision.ts'

const record = (at: string, seq: number) => ({
  ...{ at, seq, class: 'Approval', event: 'ApprovalDecided', sessionId: 's', callId: `${at}/${seq}` },
  decision: { verdict: 'allow', by: 'mode', why: 'x' },
})

/** An audit of three days by two processes, one record of each at the turn of the day. */
async function audit() {
  const home = await temporary('audit-page-')
  mkdirSync(join(home, 'audit'))
  const file = (name: string, ...records: object[]): string => {
    const path = join(home, 'audit', `${name}.jsonl`)
    writeFileSync(path, records.map((one) => `${JSON.stringify(one)}\n`).join(''))
    return path
  }
  const oldest = file('2026-01-01-a', record('2026-01-01T10:00:00.000Z', 1), record('2026-01-02T00:00:00.001Z', 2))
  file('2026-01-02-a', record('2026-01-02T09:00:00.000Z', 3), record('2026-01-02T11:00:00.000Z', 4))
  file('2026-01-02-b', record('2026-01-01T23:59:59.999Z', 1), record('2026-01-02T10:00:00.000Z', 2))
  const newest = file('2026-01-03-b', record('2026-01-03T10:00:00.000Z', 3))
  return { io: fakeIo({ home }), oldest, newest }
}

/** Also for a test that is run as root. */
function makeUnreadable(path: string): void {
  rmSync(path)
  mkdirSync(path)
}

test('WB38 pages of the audit are in the order of time, across files and days', async () => {
  const { io } = await audit()
  const seen: string[] = []
  let cursor: string | undefined
  for (let pages = 0; pages < 10; pages++) {
    const page = await auditPage({ limit: 2, ...(cursor !== undefined && { cursor }) } as never, io, (one) => one)
    seen.push(...page.records.map(({ at }) => at))
    cursor = page.next
    if (cursor === undefined) break
  }
  expect(seen).toHaveLength(7)
  expect(seen).toEqual(seen.toSorted().reverse())
})

test('WB38 a page reads no file that it does not need, nor does the search for one decision', async () => {
  const { io, oldest, newest } = await audit()
  const page = (query: object) => auditPage({ limit: 2, ...query } as never, io, (one) => one)
  makeUnreadable(oldest)
  expect((await page({})).records).toHaveLength(2)
  const at = '2026-01-02T11:00:00.000Z'
  expect(await findDecision(io)('s', `${at}/4`)).toMatchObject({ decision: { verdict: 'allow' } })
  expect(await findDecision(io)('s', 'none', Date.parse('2026-01-03T23:00:00.000Z'))).toBeUndefined()
  makeUnreadable(newest)
  const cursor = `${at}.000000000004`
  expect((await page({ limit: 1, cursor })).records).toMatchObject([{ at: '2026-01-02T10:00:00.000Z' }])
  await expect(page({ limit: 100 })).rejects.toThrow()
})
