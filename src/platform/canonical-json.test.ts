import { expect, test } from 'vitest'
import { digestOfJson } from './canonical-json.ts'

test('the digest of a value does not depend on the order of its names', () => {
  expect(digestOfJson({ a: 1, b: { c: 2, d: [3] } })).toBe(digestOfJson({ b: { d: [3], c: 2 }, a: 1 }))
  expect(digestOfJson({ a: 1 })).not.toBe(digestOfJson({ a: '1' }))
  expect(digestOfJson(JSON.parse('{"__proto__": 1}'))).not.toBe(digestOfJson({}))
  expect(digestOfJson({})).toBe('44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a')
})
