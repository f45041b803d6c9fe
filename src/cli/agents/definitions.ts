import { visibleName } from '../../platform/visible-text.ts'
import { exitCodes } from '../exit-codes.ts'
import type { Io } from '../io.ts'
import { jsonText } from '../json-text.ts'
import { shortLine } from '../short-line.ts'
import { readDefinitions } from './read-definitions.ts'

/** `libero agents definitions`. */
export async function definitions({ values }: { values: { readonly json?: boolean } }, io: Io): Promise<number> {
  const { found, problems } = await readDefinitions(io)
  if (values.json) {
    io.out(jsonText({ definitions: found.map(({ definition, from }) => ({ ...definition, from })), problems }))
    return exitCodes.done
  }
  const width = Math.max(...found.map(({ definition }) => definition.id.length))
  for (const { definition, from } of found) {
    const { id, name = '', description = name } = definition
    io.out(`${visibleName(id).padEnd(width)}  ${shortLine(description)}`.trimEnd())
    io.out(`${' '.repeat(width)}  ${visibleName(from)}`)
  }
  for (const problem of problems) io.err(problem)
  return exitCodes.done
}
