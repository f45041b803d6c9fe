import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { contractVersion, coreVersion, type ToolContract } from './contract.ts'
import { versionProblem } from './load-tool.ts'
import { validateContract } from './validate-contract.ts'

const configSchema = {
  type: 'object',
  properties: { enabled: { type: 'boolean' }, timeoutMs: { type: 'integer', minimum: 1 } },
  required: ['enabled'],
  additionalProperties: false,
}

const full: ToolContract = {
  kind: 'Tool',
  contractVersion: '1.0.0',
  requiredCoreVersion: '>=0.1.0',
  configSchema,
  loadedCardinality: 'unlimited',
  activeCardinality: 'unlimited',
  stateSlot: { slotVersion: 1, schema: { type: 'number' }, migrate: () => 0 },
  discoveryRules: { folder: 'tools' },
  reloadBehavior: 'between-turns',
  name: 'count_words',
  description: 'Counts words.',
  inputSchema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
  outputSchema: { type: 'number' },
  executor: 'local',
  gated: true,
  deriveApprovalKey: () => 'count_words',
  lifecycle: { init() {}, activate() {}, deactivate() {}, dispose() {} },
  execute: () => ({ ok: true, value: 0 }),
  timeoutMs: () => 5,
  effects: ['fs.read'],
  isConcurrencySafe: true,
  replay: 'pure',
}

const isRefused = (change: object, message: RegExp | string): void =>
  expect(() => validateContract({ ...full, ...change }, 'words.ts')).toThrow(
    expect.objectContaining({
      class: 'Validation',
      code: 'ContractInvalid',
      message: message instanceof RegExp ? expect.stringMatching(message) : expect.stringContaining(message),
    }),
  )

describe('the validator', () => {
  test('B001 accepts a tool with all fields', () => {
    expect(Object.keys(validateContract(full, 'words.ts')).sort()).toEqual(Object.keys(full).sort())
  })

  const optional =
    'stateSlot loadedCardinality activeCardinality discoveryRules outputSchema timeoutMs effects isConcurrencySafe replay'
  const isOptional = (field: string): boolean => optional.split(' ').includes(field)

  test('M05 accepts a tool with only the required fields; without a stateSlot, with ’none’ or with null it is stateless', () => {
    const must = Object.fromEntries(Object.entries(full).filter(([field]) => !isOptional(field)))
    expect(validateContract({ ...must, lifecycle: {} }, 'words.ts')).not.toHaveProperty('stateSlot')
    for (const stateSlot of ['none', null])
      expect(validateContract({ ...must, stateSlot }, 'words.ts')).toMatchObject({ stateSlot: 'none' })
    isRefused({ stateSlot: 'nothing' }, /stateSlot must be "none", or \{ slotVersion/)
  })

  test.each(Object.keys(full).filter((field) => !isOptional(field)))('B001 names %s when it is missing', (field) => {
    isRefused({ [field]: undefined }, `words.ts.${field} is missing`)
  })

  const wrong: Record<string, unknown> = {
    kind: 'Hook',
    contractVersion: 1,
    requiredCoreVersion: '',
    configSchema: [],
    loadedCardinality: 'one',
    activeCardinality: 1,
    stateSlot: { schema: {} },
    discoveryRules: 'tools',
    reloadBehavior: 'sometimes',
    name: 'project/read',
    description: ' ',
    inputSchema: { type: 'string' },
    outputSchema: 'number',
    executor: 'worker',
    gated: 'yes',
    deriveApprovalKey: 'key',
    lifecycle: { init: true },
    execute: {},
    timeoutMs: 5,
    effects: 'fs.read',
    isConcurrencySafe: 'yes',
    replay: 'maybe',
  }

  test.each(Object.keys(full))('B001 names %s when it is wrong', (field) => {
    isRefused({ [field]: wrong[field] }, `words.ts.${field} must be `)
  })

  test.each([null, 'tool', [], () => {}])('refuses %s', (value) => {
    expect(() => validateContract(value, 'words.ts')).toThrow('words.ts must be a tool contract')
  })
})

describe('a configuration schema', () => {
  const { properties } = configSchema
  test.each<[string, object, string]>([
    ['without enabled', { properties: { timeoutMs: properties.timeoutMs } }, 'properties.enabled'],
    ['with another enabled', { properties: { ...properties, enabled: { type: 'string' } } }, 'properties.enabled'],
    ['without timeoutMs', { properties: { enabled: properties.enabled } }, 'properties.timeoutMs'],
    ['with times of nothing', { properties: { ...properties, timeoutMs: { type: 'integer' } } }, 'minimum: 1'],
    ['with times in parts', { properties: { ...properties, timeoutMs: { type: 'number', minimum: 1 } } }, 'integer'],
    ['that does not ask for enabled', { required: [] }, 'required must contain "enabled"'],
    ['that takes anything', { additionalProperties: true }, 'additionalProperties must be false'],
    ['that says nothing about the rest', { additionalProperties: undefined }, 'additionalProperties must be false'],
    ['with variables of no name', { 'x-env': [3] }, 'x-env must be a list of names'],
  ])('B003 a configuration schema %s is refused', (_, change, message) => {
    isRefused({ configSchema: { ...configSchema, ...change } }, message)
  })
})

test('a checked contract cannot change', () => {
  let reads = 0
  const sly = {
    ...full,
    inputSchema: { type: 'object', properties: {} },
    get gated() {
      return ++reads === 1
    },
  }
  const contract = validateContract(sly, 'sly.ts')
  Object.assign(sly.inputSchema, { type: 'string' })
  expect([contract.gated, contract.gated, contract.inputSchema.type]).toEqual([true, true, 'object'])
  expect(Object.isFrozen(contract)).toBe(true)
})

test('a tool may be an instance of a class', () => {
  class Words {
    #count = 3
    deriveApprovalKey(): string {
      return `${this.#count} words`
    }
    execute(): { ok: true; value: number } {
      return { ok: true, value: this.#count }
    }
  }
  const { execute, deriveApprovalKey } = Words.prototype
  const contract = validateContract(Object.assign(new Words(), { ...full, execute, deriveApprovalKey }), 'words')
  expect(contract.deriveApprovalKey({})).toBe('3 words')
  expect(contract.execute({}, {} as never, AbortSignal.timeout(1000))).toEqual({ ok: true, value: 3 })
})

describe('versions', () => {
  test.each([
    ['1.0.0', '>=0.1.0', undefined],
    ['1.0.0', '*', undefined],
    ['2.0.0', '*', 'written for version 2.0.0 of the tool contract; this is 1.0.0'],
    ['1.1.0', '*', 'written for version 1.1.0'],
    ['0.9.0', '*', 'written for version 0.9.0'],
    ['one', '*', 'is no version'],
    ['1.0.0', '^2.0.0', 'needs version ^2.0.0 of the library; this is 0.1.0'],
    ['1.0.0', 'new', 'is no range'],
  ])('a tool of %s for %s: %s', async (contractVersion, requiredCoreVersion, problem) => {
    const found = await versionProblem({ contractVersion, requiredCoreVersion }, '0.1.0')
    if (problem === undefined) expect(found).toBeUndefined()
    else expect(found).toContain(problem)
  })

  test('this library is the version it says', () => {
    const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
    expect([coreVersion, contractVersion]).toEqual([version, '1.0.0'])
  })
})
