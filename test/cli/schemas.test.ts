import { readdirSync } from 'node:fs'
import { expect, test } from 'vitest'
import { outdatedSchemas, schemaFolder, schemas } from '../../scripts/schemas.ts'

test('the published schemas are those of the source (else: npx node --conditions=libero-source scripts/schemas.ts)', () => {
  expect(readdirSync(schemaFolder).sort()).toEqual(Object.keys(schemas).sort())
  expect(outdatedSchemas()).toEqual([])
})
