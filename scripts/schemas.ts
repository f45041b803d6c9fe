import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { configSchema } from '../src/cli/config/config-schema.ts'
import { eventSchema } from '../src/events/schema.ts'
import { eventLineSchema } from '../src/rpc/event-line-schema.ts'

/** The schemas that are published, by file name, as the source has them. */
export const schemas: Readonly<Record<string, object>> = {
  'config.json': configSchema,
  'event-lines.json': eventLineSchema,
  'events.json': eventSchema,
}

/** Where they lie. */
export const schemaFolder = fileURLToPath(new URL('../schemas/', import.meta.url))

/** A schema as its file has it: laid out by the formatter, so that making it anew leaves no diff. */
export function schemaText(name: string): string {
  const options = { input: JSON.stringify(schemas[name], null, 2), cwd: projectFolder, encoding: 'utf8' } as const
  return execFileSync(process.execPath, [biome, 'format', `--stdin-file-path=schemas/${name}`], options)
}

const projectFolder = fileURLToPath(new URL('..', import.meta.url))
const biome = fileURLToPath(new URL('../node_modules/@biomejs/biome/bin/biome', import.meta.url))

/** The files that are not what the source says. */
export function outdatedSchemas(): string[] {
  return Object.keys(schemas).filter((name) => readFileSync(schemaFolder + name, 'utf8') !== schemaText(name))
}

if (import.meta.main) {
  if (process.argv.includes('--check')) {
    const names = outdatedSchemas()
    if (names.length > 0) {
      console.error(`schemas: ${names.join(', ')} out of date; run this without --check`)
      process.exitCode = 1
    }
  } else {
    mkdirSync(schemaFolder, { recursive: true })
    for (const name of Object.keys(schemas)) writeFileSync(schemaFolder + name, schemaText(name))
  }
}
