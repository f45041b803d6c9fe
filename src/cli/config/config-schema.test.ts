import { Validator } from '@cfworker/json-schema'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { checkConfig } from './check-config.ts'
import type { Config } from './config.ts'
import { joinRules } from './config-rules.ts'
import { configFields, configSchema } from './config-schema.ts'

const validator = new Validator(configSchema, '2020-12')

test('the schema and the check agree on any config', () => {
  const value = fc.oneof(
    fc.constantFrom<unknown>('plan', 'build', 'coding', 'off', 'process', 'yolo', '', 'x', true, 0, 1, 1.5, -1, null),
    fc.array(fc.constantFrom<unknown>('shell:ls', '', 5), { maxLength: 2 }),
    fc.dictionary(fc.constantFrom('my', 'x.y'), provider(), { maxKeys: 2 }),
  )
  const config = fc.dictionary(fc.constantFrom(...Object.keys(configFields), '$schema', 'modle'), value, { maxKeys: 4 })
  fc.assert(
    fc.property(config, (one) => {
      // What a rule is decides the code that compiles it.
      const { allow: _, ask: __, deny: ___, ...rest } = one
      expect(passes(rest), JSON.stringify(rest)).toBe(validator.validate(rest).valid)
    }),
    { numRuns: 3000 },
  )
})

test('the schema is plain data, and names its draft', () => {
  expect(JSON.parse(JSON.stringify(configSchema))).toEqual(configSchema)
  expect(configSchema).toMatchObject({ $schema: 'https://json-schema.org/draft/2020-12/schema' })
})

test('the schema accepts both forms of a rule', () => {
  const rule = { rule: 'shell:ls', why: 'x', match: ['ls'], notMatch: ['rm'] }
  expect(validator.validate({ allow: ['exec', rule], deny: [] }).valid).toBe(true)
  expect(validator.validate({ allow: [{ ...rule, whi: 1 }] }).valid).toBe(false)
  expect(validator.validate({ allow: [{ why: 'x' }] }).valid).toBe(false)
})

test.each<unknown>([
  'shell:ls',
  { rule: 'shell:ls' },
  { rule: 'shell:ls', why: '', match: [], notMatch: ['rm'] },
  '',
  5,
  null,
  [],
  {},
  { rule: '' },
  { rule: 'net', why: 5 },
  { rule: 'net', match: 'ls' },
  { rule: 'net', match: [5] },
  { rule: 'net', match: null },
  { rule: 'net', extra: 1 },
])('the schema and the code that compiles rules agree on %j', async (rule) => {
  const joining = joinRules(
    'global',
    { path: '/desk/config.json', config: { deny: [rule] } as Config },
    undefined,
    '/desk',
  )
  const isFine = await joining.then(
    () => true,
    () => false,
  )
  expect(isFine).toBe(validator.validate({ deny: [rule] }).valid)
})

function provider() {
  return fc.record(
    {
      baseURL: fc.constantFrom('http://x.test/v1', 'https://x.test', 'ftp://x', 'https://a:b@x', 'https://x?k=1', 5),
      model: fc.constantFrom('m', '', 1),
      apiKeyEnv: fc.constantFrom('A_KEY', 'sk-1', ''),
      contextWindow: fc.constantFrom(1, 0, 128_000, 1.5, 'many'),
      price: fc.constantFrom(
        { input: 0, output: 2.5 },
        { input: 1 },
        { input: -1, output: 1 },
        { input: '1', output: 1 },
      ),
      extra: fc.constant(1),
    },
    { requiredKeys: [] },
  )
}

function passes(value: unknown): boolean {
  try {
    checkConfig(value, '/desk/config.json')
    return true
  } catch {
    return false
  }
}
