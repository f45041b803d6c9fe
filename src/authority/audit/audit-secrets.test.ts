import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { AuditRecord } from '../../core/authority.ts'
import { createRedactor } from '../../platform/redact.ts'
import { createFileAudit, fitForAudit } from './audit-file.ts'
import { verifyAudit } from './verify-audit.ts'

let folder = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'audit-secrets-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

// Put together here, so that no scanner takes this file for a leak.
const put = (...parts: string[]): string => parts.join('')
const known = 'correct/horse+9 battery'
const fromEnv = 'staple-of-the-env-77'
const shaped = [
  put('sk-', 'proj-abcDEF0123456789abcDEF'),
  put('gh', 'p_0123456789abcdefABCDEF0123456789abcd'),
  put('AI', 'zaSyA0123456789abcdefghijklmnopqrstu'),
]

async function written(record: AuditRecord): Promise<string> {
  const path = join(folder, 'audit.jsonl')
  const env = { DEPLOY_TOKEN: fromEnv, HOME: '/home/other' }
  await createFileAudit({ path, secrets: [known], env }).write(record)
  expect(await verifyAudit(path)).toMatchObject({ ok: true })
  return readFileSync(path, 'utf8')
}

const spellings = (secret: string): Record<string, string> => ({
  plain: secret,
  base64: Buffer.from(secret).toString('base64'),
  'base64 among other bytes': Buffer.from(`ab${secret}cd`).toString('base64'),
  base64url: Buffer.from(secret).toString('base64url'),
  hex: Buffer.from(secret).toString('hex'),
  'hex in capitals': Buffer.from(secret).toString('hex').toUpperCase(),
  'in an address': encodeURIComponent(secret),
  'in JSON': JSON.stringify({ inner: secret }),
})

describe('B047 a planted secret is not in the audit', () => {
  for (const [what, secret] of [
    ['told to it', known],
    ['in a variable', fromEnv],
  ] as const)
    test.each(Object.entries(spellings(secret)))(`${what}: %s`, async (_, spelled) => {
      const text = await written(everywhere(spelled))
      for (const hidden of Object.values(spellings(secret))) expect(text).not.toContain(hidden.replace(/=+$/, ''))
      expect(text).toContain('curl -H')
      expect(text).toContain('&& curl https://a.test')
    })

  test.each(shaped)('known by its shape', async (secret) => {
    expect(await written(everywhere(secret))).not.toContain(secret)
  })

  test('also where a long text is cut', async () => {
    for (const before of [4090, 4096 - known.length, 4096 - 3]) {
      const text = await written({
        class: 'Turn',
        event: 'x',
        details: { text: `${'x'.repeat(before)}${known}${'y'.repeat(9000)}` },
      })
      expect(text).not.toContain(known.slice(0, 3))
    }
  })
})

describe('text that is not a secret', () => {
  test('B047 structure and references to secrets stay as they are', async () => {
    const details = {
      args: { command: `deploy --token $DEPLOY_TOKEN --password \${DB_PASSWORD} && ls`, list: [1, null, true, ['a']] },
      env: { API_KEY: '$API_KEY', SECRET: `\${SECRET}` },
    }
    const line = await written({ class: 'Approval', event: 'x', key: 'deploy', details })
    expect(JSON.parse(line)).toMatchObject({ key: 'deploy', details })
    expect(line).not.toContain('redactions')
  })

  test('it says how much was taken out', async () => {
    const line = await written({
      class: 'Approval',
      event: 'x',
      details: { a: known, b: [`x ${known} y ${shaped[0]}`] },
    })
    expect(JSON.parse(line)).toMatchObject({
      details: { a: '[REDACTED:1]', b: ['x [REDACTED:1] y [REDACTED:2]'] },
      redactions: 3,
    })
  })
})

describe('SE-07 hostile texts', () => {
  test('a megabyte of one letter is redacted whole, in linear time', () => {
    const redactor = createRedactor({ secrets: [known] })
    const rates = [1, 2].map((megabytes) => {
      const text = 'a'.repeat(megabytes * 1_000_000)
      const start = performance.now()
      expect(redactor.text(text)).toBe(text)
      expect(redactor.text(`${text} ${known}`).endsWith(' [REDACTED:1]')).toBe(true)
      return ((performance.now() - start) / 2 / megabytes).toFixed(1)
    })
    console.log(`SE-07: ${rates.join(' and ')} ms a megabyte, for 1 MB and for 2`)
  })

  test('of a long argument only its beginning is looked at', () => {
    let looked = 0
    const redactor = createRedactor({ secrets: [known] })
    const pieces = (list: readonly string[]): string[] => {
      looked += list.join('').length
      return redactor.pieces(list)
    }
    const content = 'a'.repeat(5_000_000)
    fitForAudit({ class: 'x', event: 'y', details: { content } }, { ...redactor, pieces })
    expect(looked).toBeGreaterThan(0)
    expect(looked).toBeLessThan(40_000)
  })
})

function everywhere(secret: string): AuditRecord {
  const why = `it would send ${secret}`
  return {
    class: 'ToolInvocation',
    event: 'ToolInvocationFailed',
    key: `curl ${secret}`,
    tool: 'shell',
    origin: { layer: 'project', path: `/x/${secret}.ts` },
    decision: { verdict: 'ask', by: 'mode-gate', rule: `shell:${secret}`, why },
    approver: `me ${secret}`,
    details: {
      args: { command: `curl -H "x: ${secret}" && curl https://a.test`, deep: [{ [secret]: [secret] }] },
      message: `failed: ${secret}`,
    },
  }
}
