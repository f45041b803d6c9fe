import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { approvalKeyOf, checkApprovalKey } from './approval-key.ts'
import type { ToolDef } from './tool.ts'

const keyed = (deriveApprovalKey: unknown): ToolDef => ({
  spec: { name: 'fetch', description: '', inputSchema: {} },
  execute: () => '',
  deriveApprovalKey: deriveApprovalKey as () => string,
})

describe('the key of a call', () => {
  test('is what the tool says, unchanged', () => {
    expect(
      approvalKeyOf(
        keyed(({ host }: { host: string }) => host),
        { host: ' Ä.example ' },
      ),
    ).toBe(' Ä.example ')
  })

  test.each([
    ['empty', '', /is empty/],
    ['with a control character', 'a\nb', /control character/],
    ['with a delete character', 'a\x7f', /control character/],
    ['over 1024 bytes', 'ä'.repeat(513), /1026 bytes/],
  ])('B021 a key that is %s is refused', (_, key, why) => {
    expect(() =>
      approvalKeyOf(
        keyed(() => key),
        {},
      ),
    ).toThrow(
      expect.objectContaining({ class: 'Validation', code: 'ApprovalKeyInvalid', message: expect.stringMatching(why) }),
    )
  })

  test('B021 a key of exactly 1024 bytes is fine', () => {
    expect(
      approvalKeyOf(
        keyed(() => 'ä'.repeat(512)),
        {},
      ),
    ).toHaveLength(512)
  })

  test.each<[string, unknown]>([
    [
      'throws',
      () => {
        throw new Error('no host')
      },
    ],
    [
      'throws what cannot be read',
      () => {
        throw Object.defineProperty(new Error(), 'message', {
          get() {
            throw new Error('no')
          },
        })
      },
    ],
    [
      'gives what breaks when it is looked at',
      () =>
        new Proxy(
          {},
          {
            get() {
              throw new Error('trap')
            },
          },
        ),
    ],
    ['gives a number', () => 3],
    ['gives nothing', () => undefined],
    ['gives null', () => null],
    ['is not there', undefined],
    [
      'is asynchronous',
      async () => {
        throw new Error('late')
      },
    ],
  ])('B022 a key function that %s has failed', (_, derive) => {
    expect(() => approvalKeyOf(keyed(derive), {})).toThrow(
      expect.objectContaining({ class: 'ToolTerminal', code: 'ApprovalKeyDerivationFailed' }),
    )
  })

  test('cannot be used to change the call', () => {
    const input = { path: 'a' }
    approvalKeyOf(
      keyed((own: { path: string }) => (own.path = 'b')),
      input,
    )
    expect(input).toEqual({ path: 'a' })
  })
})

describe('the check for determinism', () => {
  test('B020 passes a key made of values, for any input', () => {
    const sorted = (value: unknown): string =>
      JSON.stringify(value, (_, inner) =>
        inner && typeof inner === 'object' && !Array.isArray(inner)
          ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
          : inner,
      ).slice(0, 200)
    const inputs = fc.dictionary(fc.stringMatching(/^[a-z]{1,3}$/), fc.jsonValue({ maxDepth: 2 }))
    fc.assert(fc.property(inputs, (input) => checkApprovalKey(keyed(sorted), [input])))
  })

  test('is for tools in files too', () => {
    const deriveApprovalKey = (input: object): string => JSON.stringify(input)
    expect(() => checkApprovalKey({ name: 'in_file', deriveApprovalKey }, [{ a: 1, b: 2 }])).toThrow('in_file gave')
  })

  test('B020 refuses a counter', () => {
    let n = 0
    expect(() =>
      checkApprovalKey(
        keyed(() => `call ${++n}`),
        [{}],
      ),
    ).toThrow('Validation/ApprovalKeyUnstable')
  })

  test('B020 refuses a key that follows the order of properties, also further in', () => {
    const asSent = keyed((input: object) => JSON.stringify(input))
    expect(() => checkApprovalKey(asSent, [{ a: 1, b: 2 }])).toThrow('depend on nothing but the values')
    expect(() => checkApprovalKey(asSent, [{ a: [{ b: 1, c: 2 }] }])).toThrow('Validation/ApprovalKeyUnstable')
    expect(() => checkApprovalKey(asSent, [{ a: 1 }])).not.toThrow()
  })
})
