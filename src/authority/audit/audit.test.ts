import { expect, test } from 'vitest'
import type { AuditRecord } from '../../core/authority.ts'
import { createMemoryAudit, teeAudit } from './audit.ts'

const record = { class: 'ToolInvocation', event: 'ToolInvocationStarted', details: { n: [1] } } satisfies AuditRecord

test('an audit in memory keeps records as they were when they were written', () => {
  const audit = createMemoryAudit()
  audit.write(record)
  record.details.n.push(2)
  expect(audit.records).toEqual([{ ...record, details: { n: [1] } }])
})

test('of several sinks each has every record, and one that fails fails the write', async () => {
  const [a, b] = [createMemoryAudit(), createMemoryAudit()]
  const full = {
    write() {
      throw new Error('disk full')
    },
  }
  await teeAudit(a, b).write(record)
  await expect(teeAudit(a, full, b).write(record)).rejects.toThrow('disk full')
  expect([a.records.length, b.records.length]).toEqual([2, 2])
})
