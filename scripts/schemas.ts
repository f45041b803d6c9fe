import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { isDeepStrictEqual } from 'node:util'
import { configSchema } from '../src/cli/config/config-schema.ts'
import { eventSchema } from '../src/events/schema.ts'
import { eventLineSchema } from '../src/rpc/event-line-schema.ts'

/** The schemas that are published, by file name, as the source has them. */
export const schemas: Readonly<Record<string, object>> = {
  'config.json': configSchema,
  'event-lines.json': eventLineSchema,
  'events.json': eventSchema,
}

/** Where they lie. How they are laid out is the formatter's business. */
export const schemaFolder = fileURLToPath(new URL('../schemas/', import.meta.url))

/** The files that are not what the source says. */
export function outdatedSchemas(): string[] {
  return Object.keys(schemas).filter((name) => {
    const published: unknown = JSON.parse(readFileSync(schemaFolder + name, 'utf8'))
    return !isDeepStrictEqual(published, schemas[name])
  })
}

if (import.meta.main) {
  if (process.argv.includes('--check')) {
    const names = outdatedSchemas()
    if (names.length > 0) {
      console.error(`schemas: ${names.join(', ')} out of date; run this without --check, then: npm run format`)
      process.exitCode = 1
    }
  } else {
    mkdirSync(schemaFolder, { recursive: true })
    for (const [name, schema] of Object.entries(schemas))
      writeFileSync(schemaFolder + name, `${JSON.stringify(schema, null, 2)}\n`)
  }
}
