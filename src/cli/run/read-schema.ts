import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { codeOf } from '../../core/errors.ts'
import { isRecord } from '../../core/is-record.ts'
import type { JsonSchema } from '../../core/tool.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import { UsageError } from '../cli-error.ts'
import { jsonProblem } from '../config/json-problem.ts'

/** The JSON Schema that `--schema` names. */
export async function readSchema(named: string, cwd: string): Promise<JsonSchema> {
  const shown = fullyVisible(named)
  const text = await readFile(resolve(cwd, named), 'utf8').catch((error) => {
    const why = codeOf(error) === 'ENOENT' ? 'there is no such file' : `it cannot be read (${codeOf(error)})`
    throw new UsageError(`--schema ${shown}: ${why}; name a file with a JSON Schema`, { cause: error })
  })
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    const { line, column, says } = jsonProblem(text) ?? { line: 1, column: 1, says: 'it cannot be read' }
    throw new UsageError(`--schema ${shown} is not JSON, line ${line}, column ${column}: ${says}`, { cause })
  }
  if (!isRecord(value))
    throw new UsageError(`--schema ${shown} must hold a JSON object such as { "type": "object", … }`)
  return value
}
