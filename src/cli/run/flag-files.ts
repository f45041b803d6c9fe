import { readFile, stat } from 'node:fs/promises'
import { isAbsolute, resolve } from 'node:path'
import { codeOf } from '../../core/errors.ts'
import { isRecord } from '../../core/is-record.ts'
import type { JsonSchema } from '../../core/tool.ts'
import type { ImageBlock } from '../../core/turn.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import { CliError, UsageError } from '../cli-error.ts'
import type { RunValues } from '../commands/run.ts'
import { jsonProblem } from '../config/json-problem.ts'
import type { Io } from '../io.ts'

/** The folder that `--cwd` names, else the current one. An absolute path works even if the current folder is gone. */
export async function resolveCwd(named: string | undefined, io: Pick<Io, 'cwd'>): Promise<string> {
  if (named === undefined) return io.cwd
  const path = isAbsolute(named) ? resolve(named) : resolve(io.cwd, named)
  const shown = fullyVisible(named)
  const info = await stat(path).catch((cause) => {
    throw new UsageError(`--cwd ${shown}: there is no such folder, or you may not enter it; check the path`, { cause })
  })
  if (!info.isDirectory()) throw new UsageError(`--cwd ${shown} is a file; name a folder`)
  return path
}

/** The JSON Schema that `--schema` names. */
export async function readSchema(named: string, cwd: string): Promise<JsonSchema> {
  const flag = `--schema ${fullyVisible(named)}`
  const text = (await readFlagFile(flag, resolve(cwd, named), 'name a file with a JSON Schema')).toString('utf8')
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    const { line, column, says } = jsonProblem(text) ?? { line: 1, column: 1, says: 'it cannot be read' }
    throw new UsageError(`${flag} is not JSON, line ${line}, column ${column}: ${says}`, { cause })
  }
  if (!isRecord(value)) throw new UsageError(`${flag} must hold a JSON object such as { "type": "object", … }`)
  return value
}

/** The images that `--image` names for the model. With `--context docker` the flag names a container's image instead. */
export async function readImages({ context, image: paths = [] }: RunValues, cwd: string): Promise<ImageBlock[]> {
  return context === 'docker' ? [] : Promise.all(paths.map((path) => readImage(path, cwd)))
}

async function readImage(named: string, cwd: string): Promise<ImageBlock> {
  const flag = `--image ${fullyVisible(named)}`
  const { readImageFile } = await import('../../platform/read-image.ts')
  const read = await readImageFile(resolve(cwd, named))
  if ('image' in read) return read.image
  if (read.isTooLarge) throw new CliError(`${flag}${read.problem}`)
  const advice = read.isUnreadable ? "; name a picture (a container's image needs --context docker)" : ''
  throw new UsageError(`${flag}${read.problem}${advice}`, { cause: read.cause })
}

function readFlagFile(flag: string, path: string, advice: string): Promise<Buffer> {
  return readFile(path).catch((cause) => {
    const problem = codeOf(cause) === 'ENOENT' ? 'there is no such file' : `it cannot be read (${codeOf(cause)})`
    throw new UsageError(`${flag}: ${problem}; ${advice}`, { cause })
  })
}

/** Whether the flags ask for an earlier session. */
export const continuesSession = ({ resume, continue: isContinued }: RunValues): boolean =>
  resume !== undefined || isContinued === true
