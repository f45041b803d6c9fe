import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { AuditRecord } from '../../core/authority.ts'
import { digestOf } from '../../platform/digest.ts'
import { fakeClock } from '../../testing/fake-clock.ts'
import { createFileAudit } from './audit-file.ts'
import { verifyAudit } from './verify-audit.ts'

let folder = ''
let path = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'audit-'))
  path = join(folder, 'logs', 'audit.jsonl')
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const origin = { layer: 'project', path: '.libero/tools/deploy.ts', digest: 'd1' } as const
const started: AuditRecord = {
  class: 'ToolInvocation',
  event: 'ToolInvocationStarted',
  sessionId: 's',
  runId: 'r',
  parentRunId: 'p',
  callId: 'c',
  tool: 'deploy',
  origin,
  key: 'deploy staging',
  digest: 'D',
  decision: { verdict: 'allow', by: 'allow-rule', rule: 'deploy:*', why: 'a rule allows it' },
}
const numbered = (n: number): AuditRecord => ({ class: 'Turn', event: 'TurnEnded', details: { n } })
const linesOf = (file = path): string[] => readFileSync(file, 'utf8').split('\n').slice(0, -1)
const recordsOf = (file = path) => linesOf(file).map((line) => JSON.parse(line) as Record<string, unknown>)
const audit = (more: Partial<Parameters<typeof createFileAudit>[0]> = {}) => createFileAudit({ path, env: {}, ...more })

describe('a record', () => {
  test('is a line with all its fields, a number, a time, and the hash of the one before', async () => {
    const clock = fakeClock()
    const sink = audit({ clock })
    const succeeded = { ...started, event: 'ToolInvocationSucceeded', details: { durationMs: 3 } }
    const failed = { ...started, event: 'ToolInvocationFailed', details: { class: 'ToolTerminal', code: 'NotFound' } }
    for (const record of [started, succeeded, failed]) await sink.write(record)
    const at = new Date(clock.now()).toISOString()
    const written = recordsOf()
    expect(written).toMatchObject([
      { seq: 1, at, ...started, prev: '0'.repeat(64) },
      { seq: 2, at, ...succeeded, prev: written[0]!.hash },
      { seq: 3, at, ...failed, prev: written[1]!.hash },
    ])
    expect(await verifyAudit(path)).toEqual({ ok: true, records: 3 })
  })

  test('is in the file when its write is done, for every way of waiting for the disk', async () => {
    for (const sync of ['decision', 'outcome', 'none'] as const) {
      const file = join(folder, `${sync}.jsonl`)
      await audit({ path: file, sync }).write(started)
      expect(recordsOf(file)).toMatchObject([{ callId: 'c' }])
    }
  })

  test('cannot set its own number, time or hash', async () => {
    const forged = { ...numbered(1), seq: 9, at: 'never', prev: 'x', hash: 'y' }
    await audit().write(forged)
    expect(recordsOf()).toMatchObject([{ seq: 1, prev: '0'.repeat(64) }])
    expect(await verifyAudit(path)).toEqual({ ok: true, records: 1 })
  })

  test('UI-01 contains no control characters, and loses no text', async () => {
    const text = 'a\x1b[2J\x9b31m\u202e\u2028\u{e0041}\nz'
    await audit().write({ ...numbered(1), details: { text } })
    const [line] = linesOf()
    // biome-ignore lint/suspicious/noControlCharactersInRegex: none may be there
    expect(line).not.toMatch(/[\x00-\x1f\x7f-\x9f\u2028-\u202e\u{e0000}-\u{e007f}]/u)
    expect(JSON.parse(line!)).toMatchObject({ details: { text } })
    expect(await verifyAudit(path)).toEqual({ ok: true, records: 1 })
  })

  test('is bounded: a long text keeps its beginning, its length and its digest', async () => {
    const long = 'x'.repeat(1_000_000)
    const many = Array.from({ length: 5000 }, (_, i) => i)
    await audit().write({ ...numbered(1), details: { long, many, list: Array(100).fill(long), deep: nested(200) } })
    const [line] = linesOf()
    expect(line!.length).toBeLessThan(150_000)
    const { details } = JSON.parse(line!) as { details: { long: string; many: unknown[] } }
    expect(details.long).toBe(`${'x'.repeat(4096)}… [1000000 characters, sha256 ${digestOf(long)}]`)
    expect(details.many.at(-1)).toMatch(/^\[\d+ more\]$/)
  })

  test('of data that JSON cannot say is written as far as it goes', async () => {
    const cycle: Record<string, unknown> = { big: 10n, none: Number.NaN, error: new Error('no'), run() {} }
    cycle.itself = cycle
    await audit().write({ ...numbered(1), details: cycle })
    expect(recordsOf()).toMatchObject([{ details: { big: '10', none: 'NaN', error: 'Error: no' } }])
  })

  const nested = (depth: number): unknown => (depth === 0 ? 'end' : { inner: nested(depth - 1) })
})

describe('the file', () => {
  test('and its folder are for the user alone, also when the file was not', async () => {
    await audit().write(started)
    expect([statSync(join(folder, 'logs')).mode & 0o777, statSync(path).mode & 0o777]).toEqual([0o700, 0o600])
    chmodSync(path, 0o644)
    await audit().write(started)
    expect(statSync(path).mode & 0o777).toBe(0o600)
  })

  test('is neither a link nor a folder: such a write fails, says where, and touches nothing', async () => {
    const target = join(folder, 'target')
    writeFileSync(target, 'kept')
    mkdirSync(join(folder, 'logs'))
    symlinkSync(target, path)
    await expect(audit().write(started)).rejects.toThrow(
      `Session/AuditWriteFailed: the audit ${path} could not be written: it is a link`,
    )
    expect(readFileSync(target, 'utf8')).toBe('kept')
    const inTheWay = join(folder, 'dir.jsonl')
    mkdirSync(inTheWay)
    await expect(audit({ path: inTheWay }).write(started)).rejects.toMatchObject({ code: 'AuditWriteFailed' })
    await expect(audit({ path: join(target, 'x.jsonl') }).write(started)).rejects.toThrow('choose another place')
  })

  test('works again after a write failed', async () => {
    const sink = audit()
    mkdirSync(path, { recursive: true })
    await expect(sink.write(started)).rejects.toThrow('could not be written')
    rmSync(path, { recursive: true })
    await sink.write(started)
    expect(await verifyAudit(path)).toEqual({ ok: true, records: 1 })
  })

  test('is a new one for every sink when the path is a folder', async () => {
    const place = join(folder, 'audit')
    const sinks = [audit({ path: place }), audit({ path: place })]
    await Promise.all(sinks.map((sink) => sink.write(started)))
    const names = readdirSync(place)
    expect(names).toHaveLength(2)
    for (const name of names)
      expect(name).toMatch(new RegExp(`^\\d{4}-\\d\\d-\\d\\d-${process.pid}-[0-9a-f]{8}\\.jsonl$`))
    expect(await verifyAudit(place)).toEqual({ ok: true, records: 2 })
    appendFileSync(join(place, names[1]!), 'x\n')
    expect(await verifyAudit(place)).toEqual({ ok: false, line: 2, problem: `${names[1]}: it is no whole record` })
  })

  test('contains the records of many writers, in sequence', async () => {
    const sink = audit()
    await Promise.all(Array.from({ length: 200 }, (_, i) => sink.write(numbered(i))))
    expect(recordsOf().map(({ details }) => (details as { n: number }).n)).toEqual(
      Array.from({ length: 200 }, (_, i) => i),
    )
    expect(await verifyAudit(path)).toEqual({ ok: true, records: 200 })
  })

  test('is continued by the next process, however long its last line is', async () => {
    const details = Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`n${i}`, 'é'.repeat(4000)]))
    await audit().write({ ...numbered(1), details })
    await audit().write(numbered(2))
    expect(recordsOf().map(({ seq }) => seq)).toEqual([1, 2])
    expect(await verifyAudit(path)).toEqual({ ok: true, records: 2 })
  })

  test('may have two sinks that take turns', async () => {
    const [a, b] = [audit(), audit()]
    for (const sink of [a, b, a, b, b, a]) await sink.write(started)
    expect(await verifyAudit(path)).toEqual({ ok: true, records: 6 })
  })
})

describe('after a crash', () => {
  test('an incomplete line is saved in another file and recorded', async () => {
    const sink = audit()
    for (const n of [1, 2]) await sink.write(numbered(n))
    const [, second = ''] = linesOf()
    truncateSync(path, readFileSync(path).length - 40)
    const torn = second.slice(0, -39)
    await audit().write(numbered(3))
    const details = { keptIn: 'audit.jsonl.torn-2', characters: torn.length, digest: digestOf(torn) }
    expect(recordsOf()).toMatchObject([
      { seq: 1 },
      { seq: 2, class: 'Integrity', event: 'AuditTornLine', details },
      { seq: 3, details: { n: 3 } },
    ])
    expect(readFileSync(`${path}.torn-2`, 'utf8')).toBe(torn)
    expect(await verifyAudit(path)).toEqual({ ok: true, records: 3 })
  })

  test('cut at any position, complete lines stay, the rest is saved, and the chain continues', async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(), async (cut) => {
        const file = join(mkdtempSync(join(folder, 'x')), 'a.jsonl')
        const sink = audit({ path: file, sync: 'none' })
        for (const n of [1, 2]) await sink.write(numbered(n))
        const whole = readFileSync(file, 'utf8')
        const left = whole.slice(0, cut % whole.length)
        writeFileSync(file, left)
        await audit({ path: file, sync: 'none' }).write(numbered(3))
        expect(await verifyAudit(file)).toMatchObject({ ok: true })
        const lines = left.split('\n')
        const torn = lines.pop()!
        const after = linesOf(file)
        expect(after.slice(0, lines.length)).toEqual(lines)
        expect(after).toHaveLength(lines.length + (torn ? 2 : 1))
        if (torn) expect(readFileSync(`${file}.torn-${lines.length + 1}`, 'utf8')).toBe(torn)
      }),
      { numRuns: 15 },
    )
  })

  test('after a crash between saving and recording it, it is recorded the next time, once', async () => {
    await audit().write(numbered(1))
    writeFileSync(`${path}.torn-2`, '{"seq":2')
    for (const n of [2, 3]) await audit().write(numbered(n))
    expect(recordsOf().map(({ event }) => event)).toEqual(['TurnEnded', 'AuditTornLine', 'TurnEnded', 'TurnEnded'])
  })

  test('a damaged complete line stops the audit until a person repairs it', async () => {
    await audit().write(numbered(1))
    appendFileSync(path, '{"seq":2}\n')
    await expect(audit().write(numbered(2))).rejects.toThrow('its last line is damaged')
  })
})

describe('tampering is detected', () => {
  const cases: Readonly<Record<string, [(lines: string[]) => string[], number, string]>> = {
    'a changed word': [(lines) => lines.map((line) => line.replace('"n":3', '"n":4')), 3, 'it was changed'],
    'a missing line': [(lines) => lines.toSpliced(1, 1), 2, 'some are missing'],
    'a missing beginning': [(lines) => lines.slice(1), 1, 'some are missing'],
    'two lines in the wrong order': [([a = '', b = '', ...rest]) => [b, a, ...rest], 2, 'some are missing'],
    'half a line': [(lines) => lines.with(4, lines[4]!.slice(0, 50)), 5, 'no whole record'],
    'a line without a chain': [(lines) => [...lines, '{"seq":6}'], 6, 'no whole record'],
  }

  test.each(Object.entries(cases))('%s', async (_, [meddle, line, problem]) => {
    const sink = audit()
    for (let n = 1; n <= 5; n++) await sink.write(numbered(n))
    writeFileSync(path, `${meddle(linesOf()).join('\n')}\n`)
    const check = await verifyAudit(path)
    expect(check).toMatchObject({ ok: false, line, problem: expect.stringContaining(problem) })
  })

  test('a record of another chain under the right number', async () => {
    const other = join(folder, 'other.jsonl')
    for (const [file, n] of [
      [path, 1],
      [other, 7],
    ] as const) {
      const sink = audit({ path: file })
      await sink.write(numbered(n))
      await sink.write(numbered(2))
    }
    writeFileSync(path, `${linesOf()[0]}\n${linesOf(other)[1]}\n`)
    expect(await verifyAudit(path)).toEqual({
      ok: false,
      line: 2,
      problem: 'it does not name the hash of the record before it',
    })
  })

  test('a file that was emptied or deleted meanwhile', async () => {
    const sink = audit()
    for (const n of [1, 2]) await sink.write(numbered(n))
    const { hash: lastHash } = recordsOf()[1]!
    rmSync(path)
    await sink.write(numbered(3))
    expect(recordsOf()).toMatchObject([{ event: 'AuditCut', details: { lastSeq: 2, lastHash } }, { details: { n: 3 } }])
  })

  test('a file that is not there', async () => {
    expect(await verifyAudit(path)).toMatchObject({ ok: false, line: 0, problem: expect.stringContaining('ENOENT') })
    expect(existsSync(path)).toBe(false)
  })
})
