import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { isRecord } from '../../core/is-record.ts'
import type { JsonSchema } from '../../core/tool.ts'
import { codeOf } from '../../platform/files.ts'
import { UsageError } from '../cli-error.ts'

/** The JSON Schema that `--schema` names. */
export async function readSchema(named: string, cwd: string): Promise<JsonSchema> {
  const text = await readFile(resolve(cwd, named), 'utf8').catch((error) => {
    const why = codeOf(error) === 'ENOENT' ? 'there is no such file' : `it cannot be read (${codeOf(error)})`
    throw new UsageError(`--schema ${named}: ${why}`, { cause: error })
  })
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : 'a syntax error'
    throw new UsageError(`--schema ${named} is no JSON: ${why}`, { cause })
  }
  if (!isRecord(value))
    throw new UsageError(`--schema ${named} must hold a JSON object such as { "type": "object", … }`)
  return value
}
