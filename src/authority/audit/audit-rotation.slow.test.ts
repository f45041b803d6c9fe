import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { fakeClock } from '../../testing/fake-clock.ts'
import { createFileAudit } from './audit-file.ts'
import { verifyAudit } from './verify-audit.ts'

const day = 86_400_000
let folder = ''
let path = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'audit-rotation-'))
  path = join(folder, 'audit.jsonl')
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

type Options = Partial<Parameters<typeof createFileAudit>[0]>
const audit = (more: Options = {}) => createFileAudit({ path, env: {}, sync: 'none', ...more })
const numbered = (n: number) => ({ class: 'Turn', event: 'TurnEnded', details: { n } })
const names = (at = folder): string[] => readdirSync(at).sort()
const recordsIn = (name: string, at = folder) =>
  readFileSync(join(at, name), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>)
const newest = (at: string): string => names(at).at(-1)!

/** Two records a file. */
const small: Options = { maxFileBytes: 300 }

async function write(sink: ReturnType<typeof audit>, ...numbers: readonly number[]): Promise<void> {
  for (const n of numbers) await sink.write(numbered(n))
}

describe('ST20 a full file of the audit is continued in another one', () => {
  test('under one chain, which the next process continues', async () => {
    await write(audit(small), 1, 2, 3, 4)
    expect(names()).toEqual(['audit.000000000002.jsonl', 'audit.jsonl'])
    await write(audit(small), 5, 6, 7)
    const all = names().flatMap((name) => recordsIn(name))
    expect(all.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 6, 7])
    for (const [i, { prev }] of all.entries()) expect(prev).toBe(all[i - 1]?.hash ?? '0'.repeat(64))
    expect(await verifyAudit(path)).toEqual({ ok: true, records: 7 })
    expect(await verifyAudit(folder)).toEqual({ ok: true, records: 7 })
  })

  test('also if the process died after the full one was renamed, and with two sinks that take turns', async () => {
    await write(audit(small), 1, 2)
    renameSync(path, join(folder, 'audit.000000000002.jsonl'))
    await write(audit(small), 3)
    expect(recordsIn('audit.jsonl')).toMatchObject([{ seq: 3, details: { n: 3 } }])
    const [a, b] = [audit(small), audit(small)]
    for (const [i, sink] of [a, b, a, b, b, a, a, b].entries()) await write(sink, i)
    expect(await verifyAudit(path)).toEqual({ ok: true, records: 11 })
  })

  test('a record that each file begins with names the process', async () => {
    await write(audit({ ...small, first: { class: 'Process', event: 'ProcessBegan' } }), 1, 2, 3)
    for (const name of names()) expect(recordsIn(name)[0]).toMatchObject({ event: 'ProcessBegan' })
    expect(await verifyAudit(path)).toMatchObject({ ok: true })
  })

  test.each([
    [
      'a changed record',
      'audit.000000000004.jsonl',
      (text: string) => text.replace('"n":3', '"n":9'),
      'it was changed',
    ],
    ['a cut end', 'audit.000000000004.jsonl', (text: string) => text.split('\n')[0]!, 'some are missing'],
    ['a cut beginning', 'audit.000000000002.jsonl', (text: string) => text.split('\n')[1]!, 'some are missing'],
    ['a file that was taken out', 'audit.000000000004.jsonl', undefined, 'which is in no file here'],
    ['the first file that was taken out', 'audit.000000000002.jsonl', undefined, 'which is in no file here'],
  ])('%s is found', async (_, name, change, problem) => {
    await write(audit(small), 1, 2, 3, 4, 5, 6, 7)
    const file = join(folder, name)
    if (change) writeFileSync(file, `${change(readFileSync(file, 'utf8'))}\n`)
    else rmSync(file)
    expect(await verifyAudit(path)).toMatchObject({ ok: false, problem: expect.stringContaining(problem) })
  })

  test('two files that continue the same record are found', async () => {
    await write(audit(small), 1, 2, 3)
    writeFileSync(join(folder, 'audit.000000000003.jsonl'), readFileSync(path))
    expect(await verifyAudit(path)).toMatchObject({
      ok: false,
      problem: expect.stringContaining('as another file does'),
    })
  })
})

describe('ST20 old files of the audit are removed', () => {
  test('by size: the oldest go, a record says so, and the rest still proves that nothing else is missing', async () => {
    await write(audit({ ...small, keepBytes: 800 }), ...Array.from({ length: 20 }, (_, i) => i))
    expect(names().length).toBeLessThan(5)
    const all = names().flatMap((name) => recordsIn(name))
    expect(all[0]!.seq).toBeGreaterThan(1)
    expect(all.filter(({ event }) => event === 'AuditPruned').length).toBeGreaterThan(0)
    expect(await verifyAudit(path)).toEqual({ ok: true, records: all.length })
    rmSync(join(folder, names()[0]!))
    expect(await verifyAudit(path)).toMatchObject({ ok: false })
  })

  test('by age', async () => {
    const clock = fakeClock(Date.now())
    await write(audit({ ...small, clock }), 1, 2, 3, 4, 5)
    const long = new Date(clock.now() - 40 * day)
    utimesSync(join(folder, 'audit.000000000002.jsonl'), long, long)
    await write(audit({ ...small, clock, keepDays: 30 }), 6)
    expect(names()).toEqual(['audit.000000000004.jsonl', 'audit.jsonl'])
    expect(recordsIn('audit.jsonl').map(({ event }) => event)).toEqual(['TurnEnded', 'AuditPruned', 'TurnEnded'])
    expect(await verifyAudit(path)).toMatchObject({ ok: true })
  })

  test('nothing is removed if its removal cannot be recorded', async () => {
    await write(audit(small), 1, 2, 3, 4, 5)
    const text = readFileSync(path, 'utf8')
    writeFileSync(path, '{"seq":9}\n')
    await expect(write(audit({ ...small, keepBytes: 1 }), 6)).rejects.toThrow('damaged')
    writeFileSync(path, text)
    expect(await verifyAudit(path)).toEqual({ ok: true, records: 5 })
  })
})

describe('ST20 in a folder', () => {
  test('a process continues its chain each day, and files that another process removed are accounted for', async () => {
    const place = join(folder, 'audit')
    const clock = fakeClock(Date.parse('2026-01-01T12:00:00Z'))
    const long = audit({ path: place, clock })
    for (let n = 0; n < 3; n++) {
      await write(long, n)
      await clock.advance(day)
    }
    expect(recordsIn(newest(place), place)).toMatchObject([{ seq: 3 }])
    await write(audit({ path: place, clock, keepDays: 1.5 }), 9)
    expect(names(place).map((name) => name.slice(0, 10))).toEqual(['2026-01-03', '2026-01-04'])
    expect(await verifyAudit(place)).toEqual({ ok: true, records: 3 })
    rmSync(join(place, newest(place)))
    expect(await verifyAudit(place)).toMatchObject({
      ok: false,
      line: 1,
      problem: expect.stringContaining('2026-01-03'),
    })
  })

  test('a new file that could not be written at first continues the chain all the same', async () => {
    const place = join(folder, 'audit')
    const sink = audit({ path: place, ...small })
    await write(sink, 1, 2)
    const inTheWay = join(place, newest(place).replace('.jsonl', '.2.jsonl'))
    mkdirSync(inTheWay)
    await expect(write(sink, 3)).rejects.toThrow('could not be written')
    rmSync(inTheWay, { recursive: true })
    await write(sink, 4)
    expect(names(place)).toHaveLength(2)
    expect(await verifyAudit(place)).toEqual({ ok: true, records: 3 })
  })

  test('a process whose file is gone begins a new chain, and records that', async () => {
    const place = join(folder, 'audit')
    const clock = fakeClock(Date.parse('2026-01-01T12:00:00Z'))
    const sink = audit({ path: place, clock })
    await write(sink, 1)
    rmSync(join(place, newest(place)))
    await clock.advance(day)
    await write(sink, 2)
    expect(recordsIn(newest(place), place)).toMatchObject([
      { seq: 1, event: 'AuditCut', details: { lastSeq: 1 } },
      { seq: 2, details: { n: 2 } },
    ])
    expect(await verifyAudit(place)).toEqual({ ok: true, records: 2 })
  })
})
