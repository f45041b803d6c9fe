import { expect, test } from 'vitest'
import { digestOf } from '../../platform/digest.ts'
import { migrations } from './schema.ts'

/** The SHA-256 of the SQL of each migration, in order. */
const published = [
  'e84d1183896a6c2f31f6b5c12c0df0a0d75f293246a751f3dc0446572d01d52f',
  '55accb63afc9003a5a8b8cccf2a051c57619d9a264fe55bcb817353e895a21f7',
  'defe89ca0c6be4fa281ce300746406131beaac34a7c41504523d7f4354867a70',
]

const hasChanged =
  'These published migrations have changed, so old databases would differ from new ones. Restore them and add a new ' +
  'migration instead. (What createListIndexes() returns is part of the third.)'

test('the SQL of published migrations never changes', () => {
  const changed = published.flatMap((digest, i) => (digestOf(migrations[i] ?? '') === digest ? [] : [i + 1]))
  expect(changed, hasChanged).toEqual([])
  expect(migrations.length, 'A new migration needs its digest in this test').toBe(published.length)
})
