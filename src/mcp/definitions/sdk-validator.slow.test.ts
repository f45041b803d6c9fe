import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { createSdkValidator } from './sdk-validator.ts'

test('output is held against its schema', () => {
  const validate = createSdkValidator().getValidator<{ a: string }>({ properties: { a: { type: 'string' } } })
  expect(validate({ a: 'x' })).toEqual({ valid: true, data: { a: 'x' }, errorMessage: undefined })
  expect(validate({ a: 5 })).toEqual({ valid: false, data: undefined, errorMessage: '"a" must be string' })
})

test('MC-05 MC-06 output is not checked by a schema that must not be used, and the call does not fail', () => {
  const bad = [
    { $ref: 'http://127.0.0.1:9/' },
    { pattern: '^(a+)+$' },
    { $ref: '#' },
    { $schema: 'https://a.test/x', $ref: 5 },
  ]
  for (const schema of bad)
    expect(createSdkValidator().getValidator(schema as object)(`${'a'.repeat(50)}!`)).toMatchObject({ valid: true })
})

test('output that takes too long to check passes, since it is data anyway', () => {
  const validate = createSdkValidator().getValidator({ pattern: '^.*.*.*.*.*.*.*x$' })
  expect(validate('y'.repeat(5000))).toMatchObject({ valid: true })
  expect(validate('y')).toMatchObject({ valid: false })
})

/** Names that would break out of code that a schema was made into. */
const breakout = `"]; globalThis.pwned = 1; //`
const script = `
const { createSdkValidator } = await import(${JSON.stringify(new URL('sdk-validator.ts', import.meta.url).href)})
const { checkInput } = await import(${JSON.stringify(new URL('check-input.ts', import.meta.url).href)})
const { AjvJsonSchemaValidator } = await import('@modelcontextprotocol/client/validators/ajv')
const name = ${JSON.stringify(breakout)}
const schema = { type: 'object', properties: { [name]: { type: 'string', pattern: '^[a-z]+$' } }, required: [name] }
const attempt = (job) => { try { return job() } catch (error) { return error.constructor.name } }
console.log(JSON.stringify({
  generated: attempt(() => new AjvJsonSchemaValidator().getValidator(schema)({}).valid),
  valid: attempt(() => createSdkValidator().getValidator(schema)({ [name]: 'a' }).valid),
  invalid: attempt(() => createSdkValidator().getValidator(schema)({ [name]: '1' }).valid),
  input: attempt(() => checkInput({ inputSchema: schema })({}).valid),
  pwned: globalThis.pwned ?? null,
}))`

test('MC-07 no schema becomes code: all works where making code is forbidden', async () => {
  const args = [
    '--disallow-code-generation-from-strings',
    '--conditions=libero-source',
    '--input-type=module',
    '-e',
    script,
  ]
  const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 60_000 })
  // The client's own validator shows that it is forbidden indeed.
  expect(JSON.parse(stdout)).toEqual({ generated: 'EvalError', valid: true, invalid: false, input: false, pwned: null })
})
