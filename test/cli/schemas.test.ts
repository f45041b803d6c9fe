import { readdirSync } from 'node:fs'
import { expect, test } from 'vitest'
import { outdatedSchemas, schemaFolder, schemas } from '../../scripts/schemas.ts'

test('T11 the published schemas are byte for byte what the script writes (else: npx node --conditions=libero-source scripts/schemas.ts)', () => {
  expect(readdirSync(schemaFolder).sort()).toEqual(Object.keys(schemas).sort())
  expect(outdatedSchemas()).toEqual([])
})
